import { Tinypool } from "tinypool";
import { afterAll, expect, it } from "vitest";
import type { Share, Sweep } from "../../trials/simulation/crash-sweep.ts";

const PARTS = 2;
const pool = new Tinypool({ filename: new URL("../../trials/simulation/pool-worker.ts", import.meta.url).href, maxThreads: PARTS });
afterAll(() => pool.destroy());

async function sweep(traffic: Share["traffic"], blow: Share["blow"]): Promise<Sweep> {
  const shares = Array.from({ length: PARTS }, (_, part): Share => ({ traffic, blow, part, parts: PARTS }));
  const sweeps = await Promise.all(shares.map((share): Promise<Sweep> => pool.run(share, { name: "crashSweep" })));
  // Every thread plays the same traffic.
  for (const { effects } of sweeps) expect(effects).toEqual(sweeps[0].effects);
  return { effects: sweeps[0].effects, differences: sweeps.flatMap(({ differences }) => differences) };
}

function reaches(effects: readonly string[], names: readonly string[]): void {
  for (const name of names)
    expect(
      effects.some((effect) => effect.endsWith(`: ${name}`)),
      name,
    ).toBe(true);
}

it("ends the same whichever effect of ingesting, publishing and closing an isolate dies at", async () => {
  const { effects, differences } = await sweep("reported", "death");
  expect(differences).toEqual([]);
  reaches(effects, [
    "sql INSERT",
    "transaction",
    "transaction end",
    "setAlarm",
    "kv.put",
    "after kv.put",
    "kv.list",
    "after ingest",
    "after alarm",
  ]);
  expect(effects.length).toBeGreaterThan(300);
});

it("ends the same whichever statement of ingesting, publishing and closing fails", async () => {
  expect((await sweep("reported", "error")).differences).toEqual([]);
});

it("keeps every law whichever effect of recommending and registering an isolate dies at", async () => {
  const { effects, differences } = await sweep("recommended", "death");
  expect(differences).toEqual([]);
  reaches(effects, ["call registerShown", "answer registerShown", "after registerShown", "kv.get"]);
});
