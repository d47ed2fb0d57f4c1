import { type Environment, graceMs } from "../environment.ts";
import { Ingestion } from "./model/ingestion.ts";
import { ModelHolder } from "./model/model-holder.ts";
import { Relearning } from "./model/relearning.ts";
import { RunningPolicies } from "./model/running-policies.ts";
import { Coordinator } from "./shards/coordinator.ts";
import { KeyHome } from "./shards/key-home.ts";
import { LearnerStore } from "./store/learner-store.ts";
import { Archive } from "./upkeep/archive.ts";
import { Closing } from "./upkeep/closing.ts";
import { deferral } from "./upkeep/deferral.ts";
import { archiving, pruning } from "./upkeep/pruning.ts";
import { Publishing } from "./upkeep/publishing.ts";
import { RelearningTask } from "./upkeep/relearning-task.ts";
import { Upkeep } from "./upkeep/upkeep.ts";

/** The objects of one learner. */
export interface Parts {
  readonly env: Environment;
  readonly store: LearnerStore;
  readonly current: ModelHolder;
  readonly running: RunningPolicies;
  readonly relearning: Relearning;
  readonly coordinator: Coordinator;
  readonly keyHome: KeyHome;
  readonly ingestion: Ingestion;
  readonly publishing: Publishing;
  readonly closing: Closing;
  /** Absent without a bucket. */
  readonly archive?: Archive;
  /** Makes a change that deletes rows, when no file of the archive is being written. */
  readonly abandon: (change: () => Promise<void>) => Promise<void>;
  readonly upkeep: Upkeep;
}

/** Makes the objects of a learner, each of those before it. */
export function partsOf(storage: DurableObjectStorage, env: Environment): Parts {
  const store = new LearnerStore(storage);
  const current = new ModelHolder(env, store);
  const relearning = new Relearning(store, graceMs(env));
  const archive = env.ARCHIVE && new Archive(env.ARCHIVE, store);
  const coordinator = new Coordinator(env, store, current);
  const keyHome = new KeyHome(env, store, current);
  const ingestion = new Ingestion(store, current, keyHome);
  const publishing = new Publishing(env, store, current, coordinator);
  const closing = new Closing(storage, env, store, current, ingestion);
  const upkeep = new Upkeep(storage, store, current, [
    // Whether or not anybody asks the model.
    { due: ({ live }) => (live.isUnreadable && !relearning.isRunning ? Date.now() : undefined), run: () => running.recover() },
    new RelearningTask(store, relearning, coordinator, publishing),
    keyHome.task,
    ...publishing.tasks,
    ...closing.tasks,
    deferral(store, current),
    archive ? archiving(store, current, archive) : pruning(store, current),
  ]);
  const running = new RunningPolicies({ env, store, current, coordinator, relearning, upkeep });
  const abandon = async (change: () => Promise<void>) => (archive ? archive.abandon(change) : change());
  return {
    env,
    store,
    current,
    running,
    relearning,
    coordinator,
    keyHome,
    ingestion,
    publishing,
    closing,
    abandon,
    upkeep,
    ...(archive && { archive }),
  };
}
