import { type PolicyFactory, policies } from "afterclick";
import type { Promises } from "../policies/facts.ts";
import { settings } from "../policies/listed.ts";
import type { Setting } from "../support/scenario.ts";

export interface Listed extends Promises {
  readonly name: string;
  readonly factory: PolicyFactory;
  readonly setting: Setting;
  readonly invariant: boolean;
  readonly proposes: boolean;
  readonly hasDomain: boolean;
}

/** Every tested setting of every policy, with its stated properties. */
export const listed: readonly Listed[] = policies.flatMap((factory) =>
  (settings[factory.id] ?? []).map((setting) => {
    const name = `${factory.id} ${setting.label}`.trim();
    const { promises, invariant = false, proposes = false } = setting;
    return { ...promises, name, factory, setting, invariant, proposes, hasDomain: "domain" in setting.options };
  }),
);

/** Settings that take candidates, that rank, that draw from a posterior, and that predict. */
export const amongCandidates = listed.filter(({ hasDomain }) => !hasDomain);
export const ranking = listed.filter(({ proposes }) => !proposes);
export const sampling = listed.filter(({ chance }) => chance === "draws");
/** Settings that look at the features of candidates. */
export const looking = amongCandidates.filter(({ setting }) => "dimension" in setting.options);
export const predicting = listed.filter(({ predictions }) => predictions !== "none");
