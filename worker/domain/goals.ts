import { didYouMean } from "../protocol/nearest.ts";

/** A goal that visitors reach, as a model declares it. */
export interface Goal {
  /** Factor on its rewards. */
  readonly weight: number;
  /** How long after its impression a conversion of this goal counts. Absent: as long as the model's window. */
  readonly window?: { readonly ms: number };
  /** The goal that visitors reach before this one. */
  readonly after?: string;
  /** The delay of all its conversions, if it is known. Absent: the policy learns the distribution. */
  readonly delay?: { readonly ms: number };
  /** Whether pages may report it. Learnt state does not depend on it. */
  readonly public?: boolean;
}

/** Goals by name. */
export type Goals = Readonly<Record<string, Goal>>;

/** The part of a configuration that says how long a conversion counts. */
export interface Windows {
  readonly window: { readonly ms: number };
  readonly goals: Goals | null;
}

/** How long after its impression a conversion of a goal counts, in ms. */
export function windowOf({ window, goals }: Windows, goal: string): number {
  return goals?.[goal]?.window?.ms ?? window.ms;
}

/** @throws {RangeError} naming the goal whose window or delay is too long, or whose `after` leads nowhere or in a circle. */
export function checkGoals({ window, goals }: Windows): void {
  const entries = Object.entries(goals ?? {});
  const names = entries.map(([name]) => name);
  for (const [name, { window: own = window, after, delay }] of entries) {
    const path = `goals.${name}`;
    if (own.ms > window.ms) throw new RangeError(`${path}.window.ms: expected at most the model's ${window.ms}, got ${own.ms}`);
    if (delay && delay.ms > own.ms)
      throw new RangeError(`${path}.delay.ms: expected at most the goal's window, ${own.ms}, got ${delay.ms}`);
    if (after !== undefined && !names.includes(after))
      throw new RangeError(`${path}.after: expected one of ${names.join(", ")}, got ${after}${didYouMean(after, names)}`);
  }
  for (const name of names) {
    const chain = [name];
    for (let next = goals?.[name].after; next !== undefined; next = goals?.[next].after) {
      const circle = chain.includes(next);
      chain.push(next);
      if (circle) throw new RangeError(`goals.${name}.after: expected goals that end somewhere, got the circle ${chain.join(" after ")}`);
    }
  }
}

/** The part of goals that learnt state depends on. */
export function learntGoals(goals: Goals): Goals {
  return Object.fromEntries(Object.entries(goals).map(([name, { public: _, ...goal }]) => [name, goal]));
}

/** Goals in their stored order, and public as asked. Both have the same learnt part. */
export function withPublic(stored: Goals, asked: Goals): Goals {
  const entries = Object.entries(learntGoals(stored));
  return Object.fromEntries(
    entries.map(([name, goal]) => {
      const { public: open } = asked[name];
      return [name, open === undefined ? goal : { ...goal, public: open }];
    }),
  );
}
