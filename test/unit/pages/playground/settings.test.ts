import { Recommender } from "afterclick";
import { describe, expect, it } from "vitest";
import { contenders } from "../../../../pages/playground/contender.ts";
import { defaults, queryOf, settingsOf, sharesInTime } from "../../../../pages/playground/settings.ts";

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

  it("names policies of its problem, wherever the problem stands, and the others are those of the problem", () => {
    for (const query of ["?problem=curve&policies=gp-ucb", "?policies=gp-ucb&problem=curve"]) {
      expect(settingsOf(query)).toEqual({ settings: { ...defaults.curve, policies: ["gp-ucb"] }, problems: [] });
    }
    expect(settingsOf("").settings).toEqual(defaults.linear);
  });

  it("that is invalid is named, and leaves the others as they are", () => {
    const query = "?problem=sphere&window=0&rounds=50&colour=red&seed=7&delay=constructor&pace=%FF&policies=gp-ucb";
    expect(settingsOf(query)).toEqual({
      settings: { ...defaults.linear, rounds: 50, seed: 7 },
      problems: [
        "problem: expected one of linear, curve, got “sphere”",
        "window: expected a whole number from 1 to 20000, got “0”",
        "colour: unknown setting",
        "delay: expected one of geometric, uniform, log-normal, heavy-tail, none, got “constructor”",
        expect.stringMatching(/^pace: expected one of fast, slow/),
        expect.stringMatching(/^policies: expected 1 to 5 different names of delay-lin-ts/),
      ],
    });
  });

  it("is cut in the text of its problem", () => {
    const long = "x".repeat(200);
    expect(settingsOf(`?delay=${long}`).problems[0]).toMatch(/, got “x{60}”$/);
    expect(settingsOf(`?${long}=1`).problems).toEqual([`${"x".repeat(60)}: unknown setting`]);
  });
});

it("the address of a match is readable, and read as the same settings", () => {
  const settings = { ...defaults.curve, delay: "heavy-tail", pace: "slow" } as const;
  expect(settingsOf(queryOf(settings))).toEqual({ settings, problems: [] });
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

  it("have the delay offset that the shares in time use", async () => {
    for (const [id, { policy, delayOffset = 0 }] of all) {
      const recommender = await Recommender.create({ policy: policy({ horizon: 100, delay: 5 }), window: { rounds: 9 }, seed: 1 });
      expect(delayOffset, id).toBe(recommender.policy.delayOffset);
    }
    // Uniform on 0 to 2 rounds.
    const short = { ...defaults[problem], delay: "uniform", typical: 1, window: 1 } as const;
    expect(sharesInTime(short)).toEqual(problem === "linear" ? [2 / 3, 2 / 3] : [1 / 3, 2 / 3]);
  });
});
