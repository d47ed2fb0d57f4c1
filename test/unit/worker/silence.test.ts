import { policies } from "afterclick";
import { expect, it } from "vitest";
import { isSilent, type RewardRules } from "../../../worker/domain/conversion/silence.ts";
import { DEFAULTS_VERSION } from "../../../worker/domain/model/defaults.ts";

const rules = (policy: string, defaults: number | undefined = DEFAULTS_VERSION): RewardRules => ({ policy, defaults, goals: null });

it.each(policies.map(({ id, countsZeros }) => [id, countsZeros !== true]))("a 0 is silence to %s: %s", (id, silent) => {
  expect(isSilent({ reward: 0 }, rules(id as string))).toBe(silent);
  expect(isSilent({ reward: -0 }, rules(id as string))).toBe(silent);
});

it("other rewards say something, and so does a 0 that restates, or of a model of earlier defaults", () => {
  for (const reward of [1, -1, 1 / 4096, null]) expect(isSilent({ reward }, rules("delay-lin-ts"))).toBe(false);
  expect(isSilent({ reward: 0, restates: true }, rules("delay-lin-ts"))).toBe(false);
  expect(isSilent({ reward: 0 }, rules("delay-lin-ts", 3))).toBe(false);
  expect(isSilent({ reward: 0 }, { policy: "delay-lin-ts", goals: null })).toBe(false);
});
