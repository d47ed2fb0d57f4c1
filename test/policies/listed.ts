import { policies } from "afterclick";
import { play } from "../support/scenario.ts";
import type { PolicyFacts, StatedSetting } from "./facts.ts";
import * as all from "./index.ts";

/** The facts of every policy that has a file in this folder, by its id. */
export const facts: Readonly<Record<string, PolicyFacts>> = Object.fromEntries(Object.values(all).map((each) => [each.factory.id, each]));

/** Options with which each policy is tested, besides its defaults. */
export const settings: Readonly<Record<string, readonly StatedSetting[]>> = Object.fromEntries(
  Object.entries(facts).map(([id, each]) => [id, each.settings]),
);

/** Plays every setting of every policy in the table. */
export async function playAll(): Promise<Record<string, string>> {
  const played: Record<string, string> = {};
  for (const factory of policies) {
    for (const setting of settings[factory.id]) played[`${factory.id} ${setting.label}`] = await play(factory, setting);
  }
  return played;
}
