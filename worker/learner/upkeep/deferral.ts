import type { Model, ModelHolder } from "../model/model-holder.ts";
import type { LearnerStore } from "../store/learner-store.ts";
import type { Task } from "./upkeep.ts";

/** Time for which the task waits longer, so that one alarm deletes many impressions. */
const TOGETHER_MS = 30_000;

/** Deletes deferred impressions, and reports for unregistered ones, that have waited too long. They cannot be activated any more. */
export function deferral(store: LearnerStore, current: ModelHolder): Task {
  const dueAfter = ({ config }: Model, shownAt: number) => shownAt + config.deferral.ms + TOGETHER_MS;
  return {
    due(model) {
      const oldest = store.oldestWaiting;
      return oldest === undefined ? undefined : dueAfter(model, oldest);
    },
    dueWith: (model, shownAt, isDeferred) => (isDeferred ? dueAfter(model, shownAt) : undefined),
    async run() {
      const { config } = current.get();
      store.transact(() => store.deleteWaiting(Date.now() - config.deferral.ms));
    },
  };
}
