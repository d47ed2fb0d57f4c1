import { bucketEnd } from "../../worker/domain/impression/bucket.ts";
import { Learner } from "../../worker/learner/learner.ts";
import { LearnerStore } from "../../worker/learner/store/learner-store.ts";

// A learner in an isolate of its own, and the steps of closing a bucket by themselves.

export class MeasuredLearner extends Learner {
  /** Closes the oldest open bucket, or forgets it, in a transaction that is then undone. Returns the number of impressions in it. */
  async undone(step: "close" | "prune"): Promise<number> {
    const store = new LearnerStore(this.ctx.storage);
    const end = bucketEnd(store.oldestSince(store.model.watermark) as number, store.model.config.window.ms);
    const count = Object.values(store.tallies.groupsBetween(0, end)).reduce((sum, each) => sum + each, 0);
    const undo = new Error("undone");
    try {
      store.transact(() => {
        if (step === "close") store.close(end);
        else store.prune(end);
        throw undo;
      });
    } catch (error) {
      if (error !== undo) throw error;
    }
    return count;
  }
}

export default {
  fetch: () => new Response(),
};
