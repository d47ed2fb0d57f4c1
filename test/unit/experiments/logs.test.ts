import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import type { Estimate } from "afterclick/research";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readBanditLog, type Shown } from "../../../experiments/logs/bandit-log.ts";
import { asLogged, inShares, type LogLearner, mostClicked, recommending } from "../../../experiments/logs/log-learner.ts";
import { errorOf } from "../../../experiments/logs/tables.ts";
import { testThenTrain } from "../../../experiments/logs/test-then-train.ts";
import { defaultModel } from "../../../experiments/shop/default-model.ts";
import { stream } from "../../../src/simulation/stream.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "logs-"));
});
afterAll(() => rm(folder, { recursive: true }));

async function file(name: string, lines: readonly string[]): Promise<string> {
  const text = [...lines, ""].join("\n");
  await writeFile(join(folder, name), name.endsWith(".gz") ? gzipSync(text) : text);
  return join(folder, name);
}

describe("a log", () => {
  const HEADER = "timestamp,item_id,position,click,propensity_score,user_feature_0,user-item_affinity_0,user-item_affinity_1";
  const GOOD = "2019-11-24 00:00:02+00:00,1,3,1,0.25,young,0.0,2.0";
  const EARLIER = "2019-11-24 00:00:01+00:00,0,1,0,0.75,old,0.0,0.0";
  const items = () => file("items.csv", ["item_id,item_feature_0,item_feature_1", "0,-1.5,a", "1,2.5,b"]);

  it("is read from gzip, in order of time, with its items", async () => {
    const log = await readBanditLog(await file("log.csv.gz", [HEADER, GOOD, EARLIER]), await items());
    expect(log.products).toEqual([
      { id: "0", features: { item_feature_0: -1.5, item_feature_1: "a" } },
      { id: "1", features: { item_feature_0: 2.5, item_feature_1: "b" } },
    ]);
    expect(log.numeric).toEqual({ item_feature_0: { min: -1.5, max: 2.5 } });
    const shownAt = Date.UTC(2019, 10, 24, 0, 0, 2);
    expect(log.shown.map(({ id, index, clicked }) => [id, index, clicked])).toEqual([
      ["row 2", 0, false],
      ["row 1", 1, true],
    ]);
    expect(log.shown[1]).toMatchObject({ position: 3, probability: 0.25, shownAt, conversions: [{ at: shownAt, reward: 1 }] });
    expect(log.shown[1].context).toEqual({ user_feature_0: "young", affinity: ["1"] });
  });

  it.each<[string, string[], RegExp]>([
    ["with another position", [HEADER, GOOD, GOOD.replace(",3,", ",4,")], /log\.csv, row 2: expected position to be one of 1, 2, 3, got 4/],
    ["without a propensity", [HEADER, GOOD.replace("0.25", "")], /row 1: expected a propensity_score, got none/],
    ["with a time that is none", [HEADER, GOOD, GOOD.replace("2019-11-24 00", "noon 00")], /row 2: expected a timestamp, got none/],
  ])("is refused %s", async (_, lines, message) => {
    const error = await readBanditLog(await file("log.csv", lines), await items()).catch((each) => each);
    expect([error.name, error.message]).toEqual(["LogError", expect.stringMatching(message)]);
  });

  it("is not evaluated without its files, and the command says so", async () => {
    const failed = await promisify(execFile)(process.execPath, ["experiments/reproduce.ts", "--paper", "logs", "--out", folder]).catch(
      (error) => error,
    );
    expect(failed.code).toBe(1);
    expect(failed.stdout).toContain("policies: skipped, it needs open-bandit/women-random.csv.gz, open-bandit/women-bts.csv.gz");
  });
});

const ITEMS = ["a", "b", "c", "d"];
const KINDS = ["young", "old"];
const HOUR = 3_600_000;

/** The click rate of an item for a visitor. */
const rateOf = ({ context }: Pick<Shown, "context">, index: number): number =>
  context.age === KINDS[0] ? [0.1, 0.25, 0.1, 0.1][index] : [0.3, 0.05, 0.1, 0.1][index];

/** A log with unequal probabilities. Two rows have the same time. */
function syntheticLog(rows: number, seed: number): Shown[] {
  const random = stream("synthetic log", seed);
  return Array.from({ length: rows }, (_, i) => {
    const probability = [0.4, 0.2, 0.2, 0.2];
    let index = 0;
    for (let left = random(); left >= probability[index] && index < 3; index++) left -= probability[index];
    const context = { age: KINDS[random.below(2)] };
    const clicked = random() < rateOf({ context }, index);
    const shownAt = HOUR * (1 + Math.floor(i / 2));
    const conversions = clicked ? [{ at: shownAt, reward: 1 }] : [];
    const shown = { id: `row ${i}`, position: 1, context, clicked, shownAt, conversions };
    return { ...shown, count: 4, ids: ITEMS, index, probability: probability[index] };
  });
}

/** Evaluates a policy, and computes the truth from the probabilities that it gave. */
async function tried(learner: LogLearner, log: readonly Shown[]) {
  const truths: number[] = [];
  const watched: LogLearner = {
    learn: (shown) => learner.learn(shown),
    chances(shown) {
      const chances = learner.chances(shown);
      truths.push(Array.from(chances).reduce((sum, chance, index) => sum + chance * rateOf(shown, index), 0));
      return chances;
    },
  };
  const evaluation = await testThenTrain(watched, log);
  return { evaluation, truth: truths.reduce((sum, each) => sum + each, 0) / truths.length };
}

const holds = ({ low, high }: Estimate, truth: number): boolean => low <= truth && truth <= high;

describe("test-then-train", () => {
  it("asks for the choice in a row before it has learnt that row or one of the same time", async () => {
    const log = syntheticLog(40, 0);
    const learnt: Shown[] = [];
    const asked: Shown[] = [];
    await testThenTrain(
      {
        learn: (shown) => void learnt.push(shown),
        chances(shown) {
          asked.push(shown);
          expect(learnt).toEqual(log.filter(({ shownAt }) => shownAt < shown.shownAt));
          return [0.25, 0.25, 0.25, 0.25];
        },
      },
      log,
    );
    expect(asked).toEqual(log.slice(20));
  });

  it("estimates a policy that learns within its intervals, about as often as they say", async () => {
    const names = ["ips", "snips", "doublyRobust"] as const;
    const held = { ips: 0, snips: 0, doublyRobust: 0 };
    for (let seed = 0; seed < 100; seed++) {
      const { evaluation, truth } = await tried(mostClicked(4), syntheticLog(1000, seed));
      for (const name of names) held[name] += Number(holds(evaluation[name] as Estimate, truth));
    }
    // Three standard deviations of a binomial below 95.
    for (const name of names) expect(held[name], name).toBeGreaterThanOrEqual(88);
  });

  it("estimates the worker's default, which learns the best item of each visitor", async () => {
    const products = ITEMS.map((id) => ({ id }));
    const model = await defaultModel({ windowMs: HOUR, products }, 1);
    const log = syntheticLog(1000, 1000).map((shown) => ({ ...shown, points: model.featurize({ context: shown.context }) }));
    const { evaluation, truth } = await tried(recommending(model.recommender), log);
    expect(truth).toBeGreaterThan(0.22);
    for (const name of ["ips", "snips", "doublyRobust"] as const) {
      expect(holds(evaluation[name] as Estimate, truth), name).toBe(true);
    }
  });
});

it("the standard error of a lift is the spread of its estimates", () => {
  const [rate, rows, items] = [0.05, 4000, 10];
  const random = stream("lifts", 1);
  // A policy that shows item 0, beside the uniformly random log itself.
  const lifts = Array.from({ length: 400 }, () => {
    let sum = 0;
    for (let i = 0; i < rows; i++) sum += random() < rate ? (random() < 1 / items ? items - 1 : -1) : 0;
    return sum / rows / rate;
  });
  const spread = Math.sqrt(lifts.reduce((sum, each) => sum + each * each, 0) / lifts.length);
  // Four standard errors of a spread of 400 are 14 %.
  expect(Math.abs(spread / errorOf({ label: "", variance: items - 1, rate, sources: [] }, rows) - 1)).toBeLessThan(0.14);
});

it("a policy of another log has that log's shares at the position, and the log itself a weight of 1 in each row", async () => {
  const log = syntheticLog(400, 2);
  const at = (position: number, index: number): Shown => ({ ...log[0], position, index });
  const learner = inShares([at(1, 0), at(1, 0), at(1, 1), at(1, 3), at(2, 2)]);
  expect(Array.from(learner.chances(at(1, 2)))).toEqual([0.5, 0.25, 0, 0.25]);
  expect(Array.from(learner.chances(at(2, 0)))).toEqual([0, 0, 1, 0]);
  const { weights, ips, logged } = await testThenTrain(asLogged, log);
  expect(weights).toEqual({ mean: 1, greatest: 1, effective: 200 });
  expect(ips).toEqual(logged);
});
