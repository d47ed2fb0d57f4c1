import { bucketAt, bucketEnd, closesAt, forgottenAt, type Timing } from "./bucket.ts";
import type { ConversionEvent, EventStore } from "./event-store.ts";
import type { LearnerStore } from "./learner-store.ts";
import { isKnown } from "./ledger.ts";
import { toDyadic } from "./model.ts";

/**
 * Closes the buckets that are due: takes from the journal what the learner never got, then moves the watermark, after
 * which no conversion of that bucket counts any more. Stopped anywhere, it is done again from the same bucket.
 *
 * @param enter takes events as if they had just been delivered.
 */
export async function closeDue(
  store: LearnerStore,
  journal: EventStore,
  timing: Timing,
  enter: (events: readonly ConversionEvent[]) => void,
): Promise<void> {
  for (;;) {
    const oldest = store.oldestSince(store.watermark);
    if (oldest === undefined || closesAt(oldest, timing) > Date.now()) return;
    for await (const page of journal.list(bucketAt(oldest, timing.windowMs))) {
      enter(page.filter((event) => !isKnown(store, { ...event, reward: toDyadic(event.reward) })));
    }
    store.transact(() => store.raiseWatermark(bucketEnd(oldest, timing.windowMs)));
  }
}

/** When the next bucket closes or row is forgotten; undefined if nothing is stored. */
export function nextDue(store: LearnerStore, timing: Timing): number | undefined {
  const oldest = store.oldestSince(0);
  if (oldest === undefined) return undefined;
  const open = store.oldestSince(store.watermark);
  const forgotten = forgottenAt(oldest, timing);
  return open === undefined ? forgotten : Math.min(closesAt(open, timing), forgotten);
}
