import { readdir } from "node:fs/promises";
import { policies } from "afterclick";
import { expect, it } from "vitest";
import { facts } from "../policies/listed.ts";
import { create } from "../support/logs/history.ts";
import { learnt } from "./learnt.ts";
import { listed } from "./stated.ts";

// Each setting's policy declares what its file in `test/policies` says, and every policy has such a file.

it("tests every policy of the table, in at least one setting", () => {
  expect(Object.keys(facts).sort()).toEqual(policies.map(({ id }) => id).sort());
  for (const { settings } of Object.values(facts)) expect(settings.length).toBeGreaterThan(0);
});

it("has one file for each policy, named by its id", async () => {
  const files = (await readdir("test/policies")).map((name) => name.replace(/\.ts$/, ""));
  expect(files.filter((name) => !["facts", "index", "listed"].includes(name)).sort()).toEqual(Object.keys(facts).sort());
});

it("has a name of its own for each setting", () => {
  expect(new Set(listed.map(({ name }) => name)).size).toBe(listed.length);
});

it("calls a setting invariant only where it states that sums and state always are", () => {
  const always = listed.filter(({ sums, state }) => sums === "always" && state === "always").map(({ name }) => name);
  const invariant = listed.filter((each) => each.invariant).map(({ name }) => name);
  // After many halvings, sums exceed double precision.
  expect(always.filter((name) => !invariant.includes(name))).toEqual(["delay-lin-ucb forgetting", "delay-lin-ts forgetting, by evidence"]);
  expect(invariant.filter((name) => !always.includes(name))).toEqual([]);
});

it.each(listed)("$name declares what is stated of it", async ({ factory, setting, invariant, chance, proposes, hasDomain }) => {
  const { policy } = await create(factory, setting);
  expect(policy.orderInvariant).toBe(invariant);
  expect(policy.deterministic).toBe(chance === "none");
  expect(policy.sequential !== undefined).toBe(proposes);
  expect(policy.hasDomain).toBe(hasDomain);
  expect(policy.dimension).toBe(hasDomain || "dimension" in setting.options ? 4 : 0);
});

it.each(listed)("$name knows a chance only where it is stated to", async (each) => {
  const { recommender, request } = await learnt(each);
  const known = (draws: number): boolean => recommender.policy.choose({ ...request, draws })[0].probability !== undefined;
  expect([known(0), known(20)]).toEqual([each.chance === "known", each.chance === "known" || each.chance === "draws"]);
});

it.each(listed)("$name decides the same exactly if it is deterministic", async (each) => {
  const { recommender, request } = await learnt(each);
  const sizes = [recommender, await create(each.factory, each.setting)].map(({ policy }, i) => {
    const choices = Array.from({ length: 250 }, (_, decision) => {
      const [{ index, features, score }] = policy.choose({ ...request, round: 31 - 30 * i, decision: `decision ${decision}` });
      return `${index} ${score} ${features}`;
    });
    return new Set(choices).size;
  });
  if (each.chance === "none") expect(sizes).toEqual([1, 1]);
  else expect(Math.max(...sizes)).toBeGreaterThan(1);
});

it("merges states of linear policies with linear rewards and of bestsellers, and of no others", async () => {
  const merging: string[] = [];
  for (const { name, factory, setting } of listed) if ((await create(factory, setting)).policy.merges === true) merging.push(name);
  expect(merging).toEqual([
    "otf-lin-ucb theory, exact",
    "otf-lin-ts theory, exact, capped",
    "delay-lin-ucb by evidence",
    "delay-lin-ucb fixed",
    "delay-lin-ucb in a funnel",
    "delay-lin-ucb by amounts",
    "delay-lin-ts by evidence",
    "delay-lin-ts fixed",
    "delay-lin-ts with blocks, and a prior",
    "delay-lin-ts with blocks whose level is found",
    "delay-lin-ts by amounts",
    "bestsellers by id",
    "bestsellers by id, rate, at random",
    "bestsellers by features, rate",
  ]);
});
