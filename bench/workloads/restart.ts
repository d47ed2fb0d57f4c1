import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { delayLinTs, gpUcbSdf, otfLinUcb, type PolicyDescriptor, type PolicyFactory, Recommender } from "afterclick";
import { stream } from "../../src/simulation/stream.ts";
import { compileCore } from "../core.ts";
import { cpuTime, prepared } from "../variant.ts";
import type { Workload } from "../workload.ts";

// The cost of a restart: restoring a snapshot, and a cold start.

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
];

/** The number that a script prints in a new process. It loads the same build of the package as this process. */
async function printed(script: string, ...args: readonly string[]): Promise<number> {
  const path = fileURLToPath(new URL(`../${script}`, import.meta.url));
  return Number((await execute(process.execPath, [...process.execArgv, path, ...args])).stdout);
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
