import { Tinypool } from "tinypool";
import { afterAll, expect, it } from "vitest";
import type { Launch, Launched } from "../../../trials/simulation/launch/launch.ts";

// The first seconds of a new model at 100 impressions a second on four isolates, while KV is a minute late and takes one write a second.
const pool = new Tinypool({ filename: new URL("../../../trials/simulation/pool-worker.ts", import.meta.url).href, maxThreads: 2 });
afterAll(() => pool.destroy());

const IMPRESSIONS = 1500;
const shop = "5 to 50 %, mean delay 2 s";
const launched = (setting: Partial<Launch> = {}): Promise<Launched> =>
  pool.run({ shop, seed: 1, impressions: IMPRESSIONS, serving: "edge", ...setting }, { name: "launch" });

it("isolates decide at most two seconds behind their learner", async () => {
  const { versions, writes, calls, wrong } = await launched();
  expect(wrong).toEqual([]);
  // A version counts at least the impressions that it knows: 100 for each second.
  for (let i = 200; i < IMPRESSIONS; i++) expect(versions[i], `the version of decision ${i}`).toBeGreaterThan(i - 200);
  const gaps = writes.slice(1).map((time, i) => time - writes[i]);
  expect(Math.min(...gaps)).toBeGreaterThanOrEqual(1000);
  expect(writes.length).toBeGreaterThan(10);
  // Each of four isolates asks at most once in each of the 16 seconds that begin.
  expect(calls.newer).toBeLessThanOrEqual(4 * 16);
});

it("without the learner's publications, they do not learn in the first minute", async () => {
  const { versions, wrong } = await launched({ lost: ["newer"] });
  expect(wrong).toEqual([]);
  expect(Math.max(...versions.slice(200))).toBeLessThan(200);
});

it("publications save much of the regret of the first seconds", { timeout: 300_000 }, async () => {
  const regretOf = async (setting: Partial<Launch>) => {
    const all = await Promise.all([11, 12, 13].map((seed) => launched({ seed, impressions: 600, ...setting })));
    return all.reduce((sum, { regret }) => sum + regret, 0);
  };
  const [own, published, late] = [await regretOf({ serving: "learner" }), await regretOf({}), await regretOf({ lost: ["newer"] })];
  expect(own).toBeLessThan(0.6 * late);
  expect(published).toBeLessThan(0.6 * late);
});

it("takes the same course from the same seed", async () => {
  expect(await launched({ impressions: 300 })).toEqual(await launched({ impressions: 300 }));
});
