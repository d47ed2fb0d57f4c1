import { Tinypool } from "tinypool";
import { afterAll, expect, it } from "vitest";
import { keptCrowdedSeeds, keptInformedSeeds, keptSeeds, keptShardedSeeds } from "../../trials/simulation/kept-seeds.ts";
import type { Outcome } from "../../trials/simulation/pool-worker.ts";
import type { Kind } from "../../trials/simulation/simulation.ts";

// Runs in threads of plain Node, where clock, randomness and cryptography are replaced.
const pool = new Tinypool({ filename: new URL("../../trials/simulation/pool-worker.ts", import.meta.url).href, maxThreads: 2 });
afterAll(() => pool.destroy());

const SCHEDULES = 300;
const SHARDED_SCHEDULES = 100;
const INFORMED_SCHEDULES = 60;
const CROWDED_SCHEDULES = 60;

async function failuresOf(seeds: readonly number[], kind: Kind = {}): Promise<(string | undefined)[]> {
  const halves = [seeds.filter((_, i) => i % 2 === 0), seeds.filter((_, i) => i % 2 === 1)];
  const outcomes: Outcome[] = (await Promise.all(halves.map((half) => pool.run({ seeds: half, ...kind })))).flat();
  expect(outcomes).toHaveLength(seeds.length);
  return outcomes.flatMap(({ failure }) => failure ?? []);
}

it("keeps every law under hundreds of schedules of faults", async () => {
  expect(await failuresOf(Array.from({ length: SCHEDULES }, (_, i) => i + 1))).toEqual([]);
});

it("keeps every law where shards are killed, cut off and added", async () => {
  const seeds = Array.from({ length: SHARDED_SCHEDULES }, (_, i) => i + 1);
  expect(await failuresOf([...seeds, ...keptShardedSeeds], { sharded: true })).toEqual([]);
});

it("keeps every law, and repeats all decisions from the log, where catalogues grow and priors come late and again", async () => {
  const seeds = Array.from({ length: INFORMED_SCHEDULES }, (_, i) => i + 1);
  expect(await failuresOf([...seeds, ...keptInformedSeeds], { informed: true })).toEqual([]);
});

it("keeps every law, and repeats all decisions from the log, where requests come many at once", async () => {
  const seeds = Array.from({ length: CROWDED_SCHEDULES }, (_, i) => i + 1);
  expect(await failuresOf([...seeds, ...keptCrowdedSeeds], { crowded: true })).toEqual([]);
});

it("keeps every law under the schedules that once broke one", async () => {
  expect(await failuresOf(keptSeeds)).toEqual([]);
});

it("takes the same course from the same seed, whatever ran before", async () => {
  const [once]: Outcome[] = await pool.run({ seeds: [7] });
  const [, again]: Outcome[] = await pool.run({ seeds: [8, 7] });
  expect(again).toEqual(once);
});
