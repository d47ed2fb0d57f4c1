import { describe, expect, it } from "vitest";
import { contenders } from "../../../../pages/playground/contender.ts";
import { defaults, queryOf, settingsOf } from "../../../../pages/playground/settings.ts";

const taken = (query: string) => settingsOf(query).problems.length === 0;

describe("a setting of the address", () => {
  it.each([
    ["typical", 1, 10_000],
    ["window", 1, 20_000],
    ["rounds", 10, 20_000],
    ["seed", 0, 999_999_999],
  ])("called %s is a whole number from %d to %d", (name, least, most) => {
    const query = (value: unknown) => `?${name}=${value}`;
    expect([least - 1, least, least + 1, most - 1, most, most + 1].map((value) => taken(query(value)))).toEqual([
      ...[false, true, true, true, true, false],
    ]);
    expect([`a${most}`, `${most}a`, "", " ", "1.5", "-5", "0x10"].map((value) => taken(query(value)))).toEqual(Array(7).fill(false));
    expect(settingsOf(query(most)).settings).toEqual({ ...defaults.linear, [name]: most });
  });

  it("that names policies takes one to five different ones, in their order", () => {
    const names = Object.keys(contenders.linear);
    const query = (policies: readonly string[]) => `?policies=${policies.join(",")}`;
    expect([1, 4, 5, 6].map((count) => taken(query(names.slice(0, count))))).toEqual([true, true, true, false]);
    const backwards = names.slice(0, 3).toReversed();
    expect(settingsOf(query(backwards)).settings.policies).toEqual(backwards);
    expect([query([]), query([...names.slice(0, 2), names[0]]), query([names[0], "nobody"])].map(taken)).toEqual([false, false, false]);
  });

  it("names policies of its problem, wherever the problem stands", () => {
    for (const query of ["?problem=curve&policies=gp-ucb", "?policies=gp-ucb&problem=curve"]) {
      expect(settingsOf(query)).toEqual({ settings: { ...defaults.curve, policies: ["gp-ucb"] }, problems: [] });
    }
  });

  it("of another pace or law is taken by its name", () => {
    expect(settingsOf("?pace=slow&delay=none")).toEqual({ settings: { ...defaults.linear, pace: "slow", delay: "none" }, problems: [] });
  });

  it("that is invalid leaves the others as they are", () => {
    const { settings, problems } = settingsOf("?problem=sphere&window=0&rounds=50&colour=red&seed=7");
    expect(settings).toEqual({ ...defaults.linear, rounds: 50, seed: 7 });
    expect(problems.map((problem) => problem.split(":")[0])).toEqual(["problem", "window", "colour"]);
  });

  it("is cut in the text of its problem", () => {
    const long = "x".repeat(200);
    expect(settingsOf(`?delay=${long}`).problems[0]).toMatch(/, got “x{60}”$/);
    expect(settingsOf(`?${long}=1`).problems).toEqual([`${"x".repeat(60)}: unknown setting`]);
  });
});

it("the address of a match is readable", () => {
  expect(queryOf(defaults.curve)).toBe(
    "?problem=curve&policies=gp-bucb,gp-ucb-sdf,waiting,uniform&delay=geometric&typical=20&window=100&rounds=1000&seed=1&pace=fast",
  );
});

describe.each(["linear", "curve"] as const)("the policies of %s", (problem) => {
  const all = Object.entries(contenders[problem]);

  it("have a name and a note each, and no two the same name", () => {
    expect(new Set(all.map(([, { name }]) => name)).size).toBe(all.length);
    for (const [, { name, note }] of all) expect([name.length, note.length]).not.toContain(0);
  });

  it("learn at once, except the one that waits", () => {
    expect(all.flatMap(([id, { waits }]) => (waits ? [id] : []))).toEqual(["waiting"]);
  });

  it("of a first match exist", () => {
    for (const id of defaults[problem].policies) expect(Object.keys(contenders[problem])).toContain(id);
    expect(defaults[problem].problem).toBe(problem);
  });
});
