import { decisionWorkloads } from "./decision.ts";
import { gaussianProcessWorkloads } from "./gaussian-process.ts";
import { gridWorkloads } from "./grid.ts";
import { longRunWorkloads } from "./long-run.ts";
import { otfLinUcbWorkloads } from "./otf-lin-ucb.ts";
import { restartWorkloads } from "./restart.ts";
import { ridgeWorkloads } from "./ridge.ts";
import { workerWorkloads } from "./worker.ts";
import type { Workload } from "./workload.ts";

/** All workloads, by the file that exports them. */
export const files: Readonly<Record<string, readonly Workload[]>> = {
  "ridge.ts": ridgeWorkloads,
  "otf-lin-ucb.ts": otfLinUcbWorkloads,
  "gaussian-process.ts": gaussianProcessWorkloads,
  "grid.ts": gridWorkloads,
  "long-run.ts": longRunWorkloads,
  "restart.ts": restartWorkloads,
  "decision.ts": decisionWorkloads,
  "worker.ts": workerWorkloads,
};

export const workloads: readonly Workload[] = Object.values(files).flat();
