import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { delayLinTs, gpUcbSdf, otfLinUcb, type PolicyDescriptor, type PolicyFactory, Recommender } from "afterclick";
import { stream } from "../../src/simulation/stream.ts";
import { compileCore } from "../core.ts";
import { columnsOf, publicationOf } from "../shop.ts";
import { cpuTime, prepared } from "../variant.ts";
import type { Target, Workload } from "../workload.ts";

// The cost of a restart: restoring a snapshot, a cold start, and the first decision among a catalogue.

const WITHIN_MS = 5;
const DELAY = 20;

const execute = promisify(execFile);

export const restartWorkloads: readonly Workload[] = [
  restoring("snapshot-restore ridge d=128", otfLinUcb({ dimension: 128 }), otfLinUcb),
  restoring("snapshot-restore default d=256", delayLinTs({ dimension: 256 }), delayLinTs),
  restoring("snapshot-restore gp n=1000", gpUcbSdf({ dimension: 8, norms: "buffered" }), gpUcbSdf),
  {
    name: "cold-start node",
    unit: "ms",
    rounds: 11,
    warmUps: 1,
    peer: "afterclick",
    targets: [{ variant: "afterclick", atMost: WITHIN_MS }],
    async prepare() {
      return { variants: { afterclick: () => printed("cold-start.ts") } };
    },
  },
  firstDecision(100),
  firstDecision(1000, [{ variant: "afterclick", atMost: 10 }]),
  firstDecision(10_000, [{ variant: "afterclick", atMost: 20 }]),
];

/** The number that a script prints in a new process. It loads the same build of the package as this process. */
async function printed(script: string, ...args: readonly string[]): Promise<number> {
  const path = fileURLToPath(new URL(`../${script}`, import.meta.url));
  return Number((await execute(process.execPath, [...process.execArgv, path, ...args])).stdout);
}

/**
 * Processor time of all threads of a new process, in which no code is optimised yet: restoring a publication with its catalogue,
 * and one decision. Not included: starting Node.js, loading the package, reading the files,
 * making the actions and compiling the core.
 */
function firstDecision(k: number, targets?: readonly Target[]): Workload {
  const size = { k, d: 128 };
  return {
    name: `first-decision k=${k}`,
    unit: "ms",
    rounds: 9,
    warmUps: 1,
    peer: "afterclick",
    targets,
    async prepare({ quick } = {}) {
      const folder = await mkdtemp(join(tmpdir(), "afterclick-bench-"));
      const parts = [await publicationOf(size, quick), columnsOf(size)].filter((part) => part !== undefined);
      const files = parts.map((_, i) => join(folder, `${i}`));
      await Promise.all(parts.map((part, i) => writeFile(files[i], part)));
      const afterclick = () => printed("first-decision.ts", String(k), String(size.d), ...files);
      return { variants: { afterclick }, close: () => rm(folder, { recursive: true }) };
    },
  };
}

/** Restores a recommender from a snapshot taken after 1,000 impressions. The ledger remembers all of them. */
function restoring(name: string, policy: PolicyDescriptor, factory: PolicyFactory): Workload {
  return {
    name,
    unit: "ms",
    rounds: 15,
    peer: "afterclick",
    targets: [{ variant: "afterclick", atMost: WITHIN_MS }],
    async prepare() {
      const module = await compileCore();
      const recommender = await Recommender.create({ policy, window: { rounds: 500 }, seed: 1, module });
      const random = stream("bench", name);
      const d = recommender.policy.dimension;
      for (let i = 0; i < 1000; i++) {
        recommender.register({ impressionId: `impression-${i}`, features: Array.from({ length: d }, random) });
        if (i >= DELAY) recommender.convert({ impressionId: `impression-${i - DELAY}`, reward: random() });
      }
      const restore = async (): Promise<Recommender> => Recommender.restore(recommender.snapshot(), { policies: [factory], module });
      if ((await restore()).digest() !== recommender.digest()) throw new Error(`${name}: the restored recommender has another digest`);
      return prepared("ms", { afterclick: { run: (times) => timed(restore, times) } });
    },
  };
}

async function timed(work: () => Promise<unknown>, times: number): Promise<number> {
  const start = cpuTime();
  for (let i = 0; i < times; i++) await work();
  return cpuTime() - start;
}
