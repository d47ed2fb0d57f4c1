import { toDyadic } from "../../publication/featurizer.ts";
import type { ConversionEvent } from "../domain/conversion/event.ts";
import { auditedAt, bucketAt, bucketEnd, closesAt, earliest, type Timing } from "../domain/impression/bucket.ts";
import type { EventJournal } from "../kv/event-journal.ts";
import { isMissing } from "./ledger.ts";
import type { LearnerStore } from "./store/learner-store.ts";

/**
 * Closes the buckets that are due: enters missing events from the journal, then raises the watermark. From then on no conversion
 * of the bucket counts. After an interruption, closing starts again with the same bucket.
 *
 * A bucket without rows is closed too if the journal notes a missing event in it, because the registration of its impression may
 * be lost.
 *
 * @param enter enters events as if they had just been delivered.
 * @param whenRowsAreDue returns early unless a bucket with rows is due, because listing the journal costs a request to KV.
 */
export async function closeDue(
  store: LearnerStore,
  journal: EventJournal,
  timing: Timing,
  enter: (events: readonly ConversionEvent[]) => void,
  { whenRowsAreDue }: { readonly whenRowsAreDue: boolean },
): Promise<void> {
  const isDue = (shownAt: number | undefined) => shownAt !== undefined && closesAt(shownAt, timing) <= Date.now();
  if (whenRowsAreDue && !isDue(store.oldestSince(store.watermark))) return;
  const noted = await journal.bucketsWithMissing();
  for (;;) {
    const oldest = earliest(store.oldestSince(store.watermark), ...noted.filter((at) => at >= store.watermark));
    if (oldest === undefined || !isDue(oldest)) return;
    for await (const unknown of missing(store, journal, bucketAt(oldest, timing.windowMs))) enter(unknown);
    store.transact(() => store.close(bucketEnd(oldest, timing.windowMs)));
  }
}

/** Compares closed buckets with the journal again, a day later. Events that closing missed are counted and do not enter. */
export async function auditDue(store: LearnerStore, journal: EventJournal, timing: Timing): Promise<void> {
  for (;;) {
    const oldest = store.oldestSince(store.audited);
    if (oldest === undefined || oldest >= store.watermark || auditedAt(oldest, timing) > Date.now()) return;
    let missed = 0;
    for await (const unknown of missing(store, journal, bucketAt(oldest, timing.windowMs))) missed += unknown.length;
    store.transact(() => {
      store.database.count("missed", missed);
      store.raiseAudited(bucketEnd(oldest, timing.windowMs));
    });
  }
}

/** The events of a bucket that are in the journal and missing here, page by page. */
async function* missing(store: LearnerStore, journal: EventJournal, bucket: number): AsyncGenerator<ConversionEvent[]> {
  const rules = store.config;
  for await (const page of journal.list(bucket)) {
    yield page.filter((event) => isMissing(store, { ...event, reward: event.reward === null ? null : toDyadic(event.reward) }, rules));
  }
}
