import { bucketAt, forgottenAt, forgottenBefore } from "../../domain/impression/bucket.ts";
import type { Model, ModelHolder } from "../model/model-holder.ts";
import type { LearnerStore } from "../store/learner-store.ts";
import type { Archive } from "./archive.ts";
import type { Task } from "./upkeep.ts";

/** Forgets rows that are older than the retention. */
export function pruning(store: LearnerStore, current: ModelHolder): Task {
  return {
    // Rows are forgotten by policies that have learnt them.
    due: (model) => (model.live.isUnreadable ? undefined : forgottenSince(store.oldestSince(0), model)),
    run() {
      const model = current.get();
      const before = Math.min(model.state.audited, dueBefore(model));
      return model.live.snapshotAnd(() => store.prune(before));
    },
  };
}

/** Archives rows that are older than the retention by whole days, and forgets a day when all of it is archived. */
export function archiving(store: LearnerStore, current: ModelHolder, archive: Archive): Task {
  return {
    due(model) {
      // A model that learns its log again needs its rows until it takes over.
      if (store.relearning.begun) return undefined;
      const oldest = store.oldestSince(0);
      return forgottenSince(oldest && archive.untilOf(oldest) - 1, model);
    },
    run() {
      const model = current.get();
      const unaudited = store.oldestSince(model.state.audited);
      const due = dueBefore(model);
      const before = unaudited === undefined ? due : Math.min(due, bucketAt(unaudited, model.timing.windowMs));
      return archive.run(before, ({ until, marksBefore }, andThen) =>
        current.get().live.snapshotAnd(() => {
          andThen();
          store.prune(until, marksBefore);
        }),
      );
    },
  };
}

/** When rows of a time shown are forgotten. Undefined without a time. */
function forgottenSince(shownAt: number | undefined, { timing, config }: Model): number | undefined {
  return shownAt === undefined ? undefined : forgottenAt(shownAt, timing, config.retention.ms);
}

/** Rows shown before this time are to be forgotten now. */
function dueBefore({ timing, config }: Model): number {
  return forgottenBefore(Date.now(), timing, config.retention.ms);
}
