import type { ModelOptions } from "../../protocol/model-options.ts";

/** Goals by name. */
export type Goals = NonNullable<ModelOptions["goals"]>;

/** A goal that visitors reach, as a model declares it. Windows and delays are in ms. */
export type Goal = Goals[string];

/** The part of a configuration that says how long a conversion counts. */
export type Windows = Pick<ModelOptions, "window" | "goals">;

/** How long after its impression a conversion of a goal counts, in ms. */
export function windowOf({ window, goals }: Windows, goal: string): number {
  return goals?.[goal]?.window?.ms ?? window.ms;
}

/** The part of goals that policies learn by: all but which reports of them count. */
export function learntGoals(goals: Goals): Readonly<Record<string, Omit<Goal, "public" | "renewals">>> {
  return Object.fromEntries(Object.entries(goals).map(([name, { public: _, renewals: __, ...goal }]) => [name, goal]));
}

/** The stored goals in their order, with the asked rules for which reports count. Both have the same learnt part. */
export function withPublic(stored: Goals, asked: Goals): Goals {
  const entries = Object.entries(learntGoals(stored));
  return Object.fromEntries(
    entries.map(([name, goal]) => {
      const { public: open, renewals } = asked[name];
      return [name, { ...goal, ...(open !== undefined && { public: open }), ...(renewals && { renewals }) }];
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
