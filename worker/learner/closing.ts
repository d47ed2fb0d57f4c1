import { auditedAt, bucketAt, bucketEnd, closesAt, type Timing } from "../domain/bucket.ts";
import { toDyadic } from "../domain/model.ts";
import type { ConversionEvent, EventStore } from "../kv/event-journal.ts";
import { isOwed } from "./ledger.ts";
import type { LearnerStore } from "./store/learner-store.ts";

/**
 * Closes the buckets that are due: takes from the journal what the learner never got, then moves the watermark, after
 * which no conversion of that bucket counts any more. Stopped anywhere, it is done again from the same bucket.
 *
 * A bucket of which no row is here is looked at as well if the journal owes something of it: of an impression whose
 * registration was lost, KV alone may know.
 *
 * @param enter takes events as if they had just been delivered.
 * @param whenRowsAreDue only then: what the journal owes costs a look into it.
 */
export async function closeDue(
  store: LearnerStore,
  journal: EventStore,
  timing: Timing,
  enter: (events: readonly ConversionEvent[]) => void,
  { whenRowsAreDue }: { readonly whenRowsAreDue: boolean },
): Promise<void> {
  const isDue = (shownAt: number | undefined) => shownAt !== undefined && closesAt(shownAt, timing) <= Date.now();
  if (whenRowsAreDue && !isDue(store.oldestSince(store.watermark))) return;
  const owed = await journal.owed();
  for (;;) {
    const open = [store.oldestSince(store.watermark), ...owed].filter((at) => at !== undefined && at >= store.watermark) as number[];
    const oldest = open.length > 0 ? Math.min(...open) : undefined;
    if (oldest === undefined || !isDue(oldest)) return;
    for await (const unknown of missing(store, journal, bucketAt(oldest, timing.windowMs))) enter(unknown);
    store.transact(() => store.close(bucketEnd(oldest, timing.windowMs)));
  }
}

/** Compares closed buckets with the journal once more, a day later: what closing has missed is counted, and stays out. */
export async function auditDue(store: LearnerStore, journal: EventStore, timing: Timing): Promise<void> {
  for (;;) {
    const oldest = store.oldestSince(store.audited);
    if (oldest === undefined || oldest >= store.watermark || auditedAt(oldest, timing) > Date.now()) return;
    let missed = 0;
    for await (const unknown of missing(store, journal, bucketAt(oldest, timing.windowMs))) missed += unknown.length;
    store.transact(() => {
      store.count("missed", missed);
      store.raiseAudited(bucketEnd(oldest, timing.windowMs));
    });
  }
}

/** What the journal has of a bucket and the learner should have and has not, a page at a time. */
async function* missing(store: LearnerStore, journal: EventStore, bucket: number): AsyncGenerator<ConversionEvent[]> {
  const rules = store.config;
  for await (const page of journal.list(bucket)) {
    yield page.filter((event) => isOwed(store, { ...event, reward: event.reward === null ? null : toDyadic(event.reward) }, rules));
  }
}
