// Paper: none. It is the control of every experiment.
// Assumes: nothing.
// Model: none.
// Expired means: nothing.
// Cost: O(k) to choose.
import { onlyKeys } from "../../values/argument.ts";
import { definePolicy, type PolicyFactory } from "../rule.ts";

/** Options of `uniform`. */
export type UniformOptions = Readonly<Record<string, never>>;

/** Chooses uniformly at random and learns nothing. */
export const uniform: PolicyFactory<UniformOptions | undefined> = /* @__PURE__ */ definePolicy({
  id: "uniform",
  stateVersion: 1,
  parse(options: UniformOptions | undefined) {
    onlyKeys("options", options ?? {}, []);
    return {};
  },
  start: () => ({
    dimension: 0,
    orderInvariant: true,
    deterministic: false,
    delayOffset: 0,
    state: {
      append: () => 0,
      observe() {},
      statistics: () => new Float64Array(0),
      save() {},
      load() {},
    },
    score: ({ count, uniforms }) => {
      const score = uniforms(count);
      return { score, isRandom: true, rankings: { random: 1, count: 1, scores: () => score } };
    },
  }),
});
