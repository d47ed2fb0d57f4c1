import { policies as factories, Recommender } from "afterclick";
import { afterEach, describe, expect, it, vi } from "vitest";
import { contenders } from "../../../../pages/playground/contender.ts";
import { delays } from "../../../../pages/playground/delay.ts";
import { Match, type MatchReport } from "../../../../pages/playground/match.ts";
import { Player } from "../../../../pages/playground/player.ts";
import { problemOf } from "../../../../pages/playground/problem.ts";
import { defaults, type Settings } from "../../../../pages/playground/settings.ts";
import { stream } from "../../../../src/simulation/stream.ts";

afterEach(() => void vi.restoreAllMocks());

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
      for (const [place, { name, pending, counted, late, choices }] of report.players.entries()) {
        expect(
          choices.reduce((sum, each) => sum + each, 0),
          name,
        ).toBe(120);
        expect(pending.at(-1), name).toBeLessThanOrEqual(26);
        if (delay === "none") expect(late.at(-1), name).toBe(0);
        const takesFailures = factories.find(({ id }) => id === policies[place])?.countsZeros === true;
        if (problem === "curve" && delay === "none" && takesFailures) expect(counted.at(-1), name).toBe(120);
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
  });

  it("shows the worker's default ahead of one that waits for windows to close, and both ahead of chance", async () => {
    const report = await play({ ...defaults.linear, rounds: 1500, window: 300, typical: 60, seed: 11 });
    const missed = Object.fromEntries(report.players.map(({ name, regret }) => [name, regret.at(-1) as number]));
    expect(missed.DelayLinTS).toBeLessThan(missed.Waiting);
    expect(missed.Waiting).toBeLessThan(missed.Uniform);
  });

  const settings: Settings = { ...defaults.linear, policies: ["otf-lin-ucb", "uniform"], typical: 10, window: 25, seed: 4 };

  it.each(["geometric", "none"] as const)("shows everyone the same, and tells everyone of what is due: %s delays", async (delay) => {
    const decide = vi.spyOn(Player.prototype, "decide");
    const arrive = vi.spyOn(Player.prototype, "arrive");
    const match = await Match.create({ ...settings, delay, rounds: 60 });
    const problem = await problemOf("linear", 4);
    const [lots, waits] = [stream("lots", 4), stream("delays", 4)];
    const law = delays[delay].law(10);
    const due = new Map<number, number[]>();
    for (let round = 1; round <= 60; round++) {
      expect(match.done).toBe(false);
      decide.mockClear();
      arrive.mockClear();
      match.step();
      const scene = problem.scene();
      const lot = lots();
      expect(decide.mock.calls).toEqual([
        [round, scene, lot],
        [round, scene, lot],
      ]);
      const comes = round + law.draw(waits);
      due.set(comes, [...(due.get(comes) ?? []), round]);
      expect(arrive.mock.calls.map(([shown]) => shown)).toEqual((due.get(round) ?? []).flatMap((shown) => [shown, shown]));
    }
    expect(match.done).toBe(true);
  });

  it.each([
    ["geometric", 10],
    ["none", 0],
  ] as const)("tells a policy how many rounds there are, and how long %s delays typically are", async (delay, typical) => {
    const policy = vi.spyOn(contenders.curve["bpe-delay"], "policy");
    await Match.create({ ...defaults.curve, policies: ["bpe-delay"], delay, rounds: 60, typical: 10 });
    expect(policy.mock.calls).toEqual([[{ horizon: 60, delay: typical }]]);
  });

  it.each([
    [60, Array.from({ length: 61 }, (_, i) => i)],
    [700, [...Array.from({ length: 234 }, (_, i) => 3 * i), 700]],
  ])("of %d rounds takes its numbers at the start, evenly, and at the end", async (rounds, sampled) => {
    const match = await Match.create({ ...settings, rounds });
    while (!match.done) match.step();
    const report = match.report();
    expect(report).toMatchObject({ round: rounds, rounds, sampled });
    expect(report.players.map(({ name }) => name)).toEqual(["OTFLinUCB", "Uniform"]);
    for (const player of report.players) {
      for (const numbers of [player.regret, player.pending, player.counted, player.late]) {
        expect(numbers).toHaveLength(sampled.length);
        expect(numbers[0]).toBe(0);
      }
      for (const growing of [player.regret, player.counted, player.late]) expect(growing).toEqual(growing.toSorted((a, b) => a - b));
      expect(Math.max(...player.pending)).toBeLessThanOrEqual(26);
      expect(player.estimate === null).toBe(player.name === "Uniform");
    }
    expect(report.truth).toEqual((await problemOf("linear", 4)).truth);
  });
});
