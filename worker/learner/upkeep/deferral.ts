import type { CurrentModel } from "../model/current-model.ts";
import type { LearnerStore } from "../store/learner-store.ts";
import type { Task } from "./upkeep.ts";

/** Time for which the task waits longer, so that one alarm deletes many impressions. */
const TOGETHER_MS = 30_000;

/** Deletes deferred impressions, and reports for unregistered ones, that have waited too long. They cannot be activated any more. */
export function deferral(store: LearnerStore, current: CurrentModel): Task {
  const dueAfter = (shownAt: number) => shownAt + current.get().config.deferral.ms + TOGETHER_MS;
  return {
    due() {
      const oldest = store.oldestWaiting;
      return oldest === undefined ? undefined : dueAfter(oldest);
    },
    dueWith: (shownAt, isDeferred) => (isDeferred ? dueAfter(shownAt) : undefined),
    async run() {
      const { config } = current.get();
      store.transact(() => store.deleteWaiting(Date.now() - config.deferral.ms));
    },
  };
}
