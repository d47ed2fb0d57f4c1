import type { Workload } from "./workload.ts";
import { decisionWorkloads } from "./workloads/decision.ts";
import { firstRequestWorkloads } from "./workloads/first-request.ts";
import { gaussianProcessWorkloads } from "./workloads/gaussian-process.ts";
import { gpChoiceWorkloads } from "./workloads/gp-choice.ts";
import { gridWorkloads } from "./workloads/grid.ts";
import { linTsWorkloads } from "./workloads/lin-ts.ts";
import { longRunWorkloads } from "./workloads/long-run.ts";
import { otfLinUcbWorkloads } from "./workloads/otf-lin-ucb.ts";
import { restartWorkloads } from "./workloads/restart.ts";
import { ridgeWorkloads } from "./workloads/ridge.ts";
import { workerWorkloads } from "./workloads/worker.ts";

/** All workloads, by the file that exports them. */
export const files: Readonly<Record<string, readonly Workload[]>> = {
  "ridge.ts": ridgeWorkloads,
  "otf-lin-ucb.ts": otfLinUcbWorkloads,
  "lin-ts.ts": linTsWorkloads,
  "gaussian-process.ts": gaussianProcessWorkloads,
  "gp-choice.ts": gpChoiceWorkloads,
  "grid.ts": gridWorkloads,
  "long-run.ts": longRunWorkloads,
  "restart.ts": restartWorkloads,
  "decision.ts": decisionWorkloads,
  "first-request.ts": firstRequestWorkloads,
  "worker.ts": workerWorkloads,
};

export const workloads: readonly Workload[] = Object.values(files).flat();
