import { Recommender } from "afterclick";
import { describe, expect, it, vi } from "vitest";
import { contenders } from "../../../pages/playground/contender.ts";
import { delays } from "../../../pages/playground/delay.ts";
import { Match, type MatchReport } from "../../../pages/playground/match.ts";
import { defaults, queryOf, type Settings, settingsOf } from "../../../pages/playground/settings.ts";
import { stream } from "../../../src/simulation/stream.ts";

const short: Settings = { ...defaults.linear, rounds: 400, typical: 20, window: 60, seed: 5 };

async function play(settings: Settings): Promise<MatchReport> {
  const match = await Match.create(settings);
  while (!match.done) match.step();
  return match.report();
}

it.each(Object.entries(delays))("the law %s states probabilities that add up, and draws by them", (_, { law }) => {
  const { cdf, pmf, draw } = law(20);
  const random = stream("delays", 7);
  const drawn = Array.from({ length: 4000 }, () => draw(random));
  let sum = 0;
  for (let k = 0; k <= 100; k++) {
    sum += pmf(k);
    expect(sum).toBeCloseTo(cdf(k), 9);
    // Four standard deviations of a share.
    expect(Math.abs(drawn.filter((delay) => delay <= k).length / drawn.length - cdf(k))).toBeLessThan(0.032);
  }
});

describe("the address of a match", () => {
  it("states every setting, and is read as the same ones", () => {
    for (const settings of [short, { ...defaults.curve, delay: "heavy-tail", pace: "slow" } as const]) {
      expect(settingsOf(queryOf(settings))).toEqual({ settings, problems: [] });
    }
  });

  it("may leave settings out: they are those of its problem", () => {
    expect(settingsOf("").settings).toEqual(defaults.linear);
    expect(settingsOf("?window=7&problem=curve").settings).toEqual({ ...defaults.curve, window: 7 });
  });

  it.each([
    ["rounds=abc", "rounds: expected a whole number from 10 to 20000, got “abc”"],
    ["seed=-1", "seed: expected a whole number from 0 to 999999999, got “-1”"],
    ["window=1e3", "window: expected a whole number from 1 to 20000, got “1e3”"],
    ["delay=constructor", "delay: expected one of geometric, uniform, log-normal, heavy-tail, none, got “constructor”"],
    ["problem=", "problem: expected one of linear, curve, got “”"],
    ["policies=uniform,uniform", "policies: expected 1 to 5 different names of delay-lin-ts"],
    ["policies=gp-ucb", "policies: expected 1 to 5 different names of delay-lin-ts"],
    ["pace=%FF", "pace: expected one of fast, slow"],
    ["colour=red", "colour: unknown setting"],
  ])("names what is wrong in %s, and does not take it", (query, problem) => {
    const { settings, problems } = settingsOf(`?${query}`);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(problem);
    expect(settings).toEqual(defaults.linear);
  });
});

describe("a match", () => {
  it("is the same again from the same settings, and another from another seed", async () => {
    const report = await play(short);
    expect(await play(short)).toEqual(report);
    const other = await play({ ...short, seed: 6 });
    for (const [i, { name, digest, regret }] of report.players.entries()) {
      expect(other.players[i].regret, name).not.toEqual(regret);
      if (name !== "Uniform") expect(other.players[i].digest, name).not.toEqual(digest);
    }
  });

  it.each(["linear", "curve"] as const)("accounts for every impression of %s, whatever the policy and the law", async (problem) => {
    const names = Object.keys(contenders[problem]);
    for (const [i, delay] of (Object.keys(delays) as (keyof typeof delays)[]).entries()) {
      // Five policies at a time, so that every policy meets every law.
      const policies = names.filter((_, place) => place % 4 === i % 4).slice(0, 5);
      const report = await play({ ...defaults[problem], policies, delay, typical: 10, window: 25, rounds: 120 });
      for (const { name, pending, counted, late, choices } of report.players) {
        expect(
          choices.reduce((sum, each) => sum + each, 0),
          name,
        ).toBe(120);
        expect(pending.at(-1), name).toBeLessThanOrEqual(26);
        if (delay === "none") expect(late.at(-1), name).toBe(0);
        if (problem === "curve" && delay === "none") expect(counted.at(-1), name).toBe(120);
        expect((counted.at(-1) as number) + (late.at(-1) as number) + (pending.at(-1) as number)).toBeLessThanOrEqual(120);
      }
    }
  });

  it.each(["linear", "curve"] as const)("counts as pending in %s what the SDK does", async (problem) => {
    const create = vi.spyOn(Recommender, "create");
    const policies = Object.keys(contenders[problem]).filter((name) => name !== "waiting");
    for (let first = 0; first < policies.length; first += 5) {
      create.mockClear();
      const settings = { ...defaults[problem], policies: policies.slice(first, first + 5), typical: 15, window: 20, rounds: 90 };
      const { players } = await play(settings);
      const recommenders = await Promise.all(create.mock.results.map(({ value }) => value as Promise<Recommender>));
      expect(recommenders.map((each) => each.counts().pending)).toEqual(players.map(({ pending }) => pending.at(-1)));
      expect(recommenders.map((each) => each.digest())).toEqual(players.map(({ digest }) => digest));
    }
    create.mockRestore();
  });

  it("shows the worker's default ahead of one that waits for windows to close, and both ahead of chance", async () => {
    const report = await play({ ...defaults.linear, rounds: 1500, window: 300, typical: 60, seed: 11 });
    const missed = Object.fromEntries(report.players.map(({ name, regret }) => [name, regret.at(-1) as number]));
    expect(missed.DelayLinTS).toBeLessThan(missed.Waiting);
    expect(missed.Waiting).toBeLessThan(missed.Uniform);
  });

  it.each(Object.entries(delays))("draws %s delays as its law says", async (_, choice) => {
    const law = choice.law(40);
    const random = stream("delays of a test");
    const drawn = Array.from({ length: 4000 }, () => law.draw(random));
    for (const m of [5, 40, 200]) {
      expect(drawn.filter((delay) => delay <= m).length / drawn.length).toBeCloseTo(law.cdf(m), 1);
    }
  });
});
