import type { Environment } from "../environment.ts";
import { Archive } from "./archive.ts";
import { Closing } from "./closing.ts";
import { Coordinator } from "./coordinator.ts";
import { CurrentModel } from "./current-model.ts";
import { KeyHome } from "./key-home.ts";
import { archiving, pruning } from "./pruning.ts";
import { Publishing } from "./publishing.ts";
import { Relearning } from "./relearning.ts";
import { RelearningTask } from "./relearning-task.ts";
import { RunningModel } from "./running-model.ts";
import { LearnerStore } from "./store/learner-store.ts";
import { Upkeep } from "./upkeep.ts";

/** The objects of one learner. */
export interface Parts {
  readonly env: Environment;
  readonly store: LearnerStore;
  readonly current: CurrentModel;
  readonly running: RunningModel;
  readonly relearning: Relearning;
  readonly coordinator: Coordinator;
  readonly keyHome: KeyHome;
  readonly publishing: Publishing;
  readonly closing: Closing;
  /** Absent without a bucket. */
  readonly archive?: Archive;
  readonly upkeep: Upkeep;
}

/** Makes the objects of a learner, each of those before it. */
export function partsOf(storage: DurableObjectStorage, env: Environment): Parts {
  const store = new LearnerStore(storage);
  const current = new CurrentModel(env, store);
  const relearning = new Relearning(store);
  const archive = env.ARCHIVE && new Archive(env.ARCHIVE, store);
  const coordinator = new Coordinator(env, store, current);
  const keyHome = new KeyHome(env, store, current);
  const publishing = new Publishing(env, store, current, coordinator);
  const closing = new Closing(env, store, current);
  const upkeep = new Upkeep(storage, store, [
    new RelearningTask(store, relearning, coordinator, publishing),
    keyHome.task,
    ...publishing.tasks,
    ...closing.tasks,
    archive ? archiving(store, current, archive) : pruning(store, current),
  ]);
  const running = new RunningModel(env, { store, current, coordinator, relearning, upkeep });
  return { env, store, current, running, relearning, coordinator, keyHome, publishing, closing, upkeep, ...(archive && { archive }) };
}
