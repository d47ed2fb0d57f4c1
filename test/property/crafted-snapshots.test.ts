import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { expect, it } from "vitest";
import { listed } from "../conformance/stated.ts";
import type { Fate, Task } from "../support/crafted-worker.ts";

// Snapshots that another program has changed, with a correct checksum. `restore` refuses them, or they can decide. Neither takes
// long, and neither takes much memory.

const CRAFTED = new URL("../fixtures/crafted/", import.meta.url);
const MOST_CPU_MS = 1000;
const MOST_BYTES = 64 * 2 ** 20;
/** A snapshot that takes longer hangs. A busy machine is no reason. */
const PATIENCE_MS = 60_000;

/** The fates of snapshots. Fails with the name of the snapshot that hangs. */
function fates(task: Task): Promise<Fate[]> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL("../support/crafted-worker.ts", import.meta.url), { workerData: task });
    let place = JSON.stringify(task);
    const hangs = (): void => {
      void worker.terminate();
      reject(new Error(`${place} hangs`));
    };
    let timer = setTimeout(hangs, PATIENCE_MS);
    worker.on("message", (message: string | Fate[]) => {
      clearTimeout(timer);
      if (typeof message !== "string") return resolve(message);
      place = message;
      timer = setTimeout(hangs, PATIENCE_MS);
    });
    worker.on("error", (error) => {
      clearTimeout(timer);
      reject(new Error(`${place}: ${error}`));
    });
  });
}

function expectModest(all: readonly Fate[]): void {
  expect(all.filter(({ cpuMs }) => cpuMs > MOST_CPU_MS)).toEqual([]);
  expect(all.filter(({ bytes }) => bytes > MOST_BYTES)).toEqual([]);
}

it("10,000 crafted snapshots over all policies are refused, or decide, in a second and 64 MB each", async () => {
  const all = await fates({ per: Math.ceil(10_000 / listed.length) });
  expect(all.length).toBeGreaterThanOrEqual(10_000);
  expectModest(all);
  const share = (wanted: string): number => all.filter(({ fate }) => fate === wanted).length / all.length;
  expect(all.filter(({ fate }) => !["refused", "decided", "not computable"].includes(fate))).toEqual([]);
  // The changes are neither all noticed nor all harmless.
  expect(share("refused")).toBeGreaterThan(0.4);
  expect(share("decided")).toBeGreaterThan(0.2);
  expect(share("not computable")).toBeLessThan(0.01);
});

it.each(readdirSync(CRAFTED).sort())("%s is refused, or decides, in a second and 64 MB", async (name) => {
  const all = await fates({ file: fileURLToPath(new URL(name, CRAFTED)) });
  expectModest(all);
  expect(all.map(({ fate }) => fate)).toEqual([name.includes("decides") ? "decided" : "refused"]);
});
