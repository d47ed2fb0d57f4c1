import type { GoalOptions } from "afterclick";

/** A goal that visitors reach, as a model declares it. Windows and delays are in ms. */
export interface Goal extends Pick<GoalOptions, "weight" | "after" | "value"> {
  readonly window?: { readonly ms: number };
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

/** The part of goals that policies learn by. */
export function learntGoals(goals: Goals): Readonly<Record<string, Omit<Goal, "public">>> {
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

/** Currencies of the goals with a value, by goal. */
export function currenciesOf(goals: Goals | null): Record<string, string> {
  return Object.fromEntries(Object.entries(goals ?? {}).flatMap(([goal, { value }]) => (value ? [[goal, value.currency]] : [])));
}

/** The currency of rewards. Null unless all goals with a weight have amounts in one currency. */
export function currencyOf(goals: Readonly<Record<string, Pick<Goal, "weight" | "value">>> | null): string | null {
  const currencies = new Set(Object.values(goals ?? {}).flatMap(({ weight, value }) => (weight === 0 ? [] : [value?.currency])));
  const [currency = null] = currencies;
  return currencies.size === 1 ? currency : null;
}
