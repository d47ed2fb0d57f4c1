import { bucketAt, bucketEnd } from "../../domain/impression/bucket.ts";
import type { Windows } from "../../domain/model/goals.ts";
import { differences } from "../../domain/model/reconfiguration.ts";
import { type CountedRow, countedRow, ListCounts } from "../store/counts/list-counts.ts";
import { broughtOf, stateOf } from "../store/impressions/outcome.ts";
import type { LearnerStore } from "../store/learner-store.ts";
import { enter } from "./ledger.ts";

/**
 * Brings the rows of a model under its windows, once its policies have learnt the log under them: what is open, what is late, and all counts
 * by time. Needs a transaction.
 * @param before the windows so far. @param graceMs time after a window in which a conversion may still be delivered.
 */
export function changeWindows(store: LearnerStore, before: Windows, graceMs: number): void {
  const { conversions } = store;
  const { config } = store.model;
  if (differences([before.window, before.goals], [config.window, config.goals]).length === 0) return;
  conversions.expireBeyond(config);
  if (before.window.ms !== config.window.ms) {
    closeUntil(store, Date.now() - config.window.ms - graceMs);
    recount(store, before);
  }
  // The policies learn these after their snapshot, when they start.
  for (const event of conversions.removeTimely(before, config)) enter(store, event, config, "in time");
}

/** Moves the marks of closing and audit to bounds of the window's buckets, and opens the impressions shown since a time again. */
function closeUntil(store: LearnerStore, since: number): void {
  const { config, watermark, audited } = store.model;
  const closed = bucketAt(Math.max(0, Math.min(watermark, since)), config.window.ms);
  store.moveBounds(closed, bucketAt(Math.min(audited, closed), config.window.ms));
}

/** Counts the live impressions of the log anew, in the buckets and steps of the window. The blocks lie within these buckets. */
function recount({ model, database, tallies, arms, holdouts, impressions }: LearnerStore, before: Windows): void {
  const { config, horizon } = model;
  const { blocks, outcomes } = impressions;
  const lists = new ListCounts(database, blocks, arms, holdouts);
  tallies.forgetSince(horizon, before);
  arms.clear();
  const { ms } = config.window;
  for (let oldest = blocks.oldestSince(0); oldest !== undefined; oldest = blocks.oldestSince(bucketEnd(oldest, ms))) {
    const rows: CountedRow[] = [];
    for (const { state, seq, block } of blocks.overlapping(bucketAt(oldest, ms), bucketEnd(oldest, ms))) {
      const places = state === "live" ? block.map((i) => i).filter((i) => !block.isErased(i)) : [];
      rows.push(...places.map((i) => countedRow(block, seq, i)));
    }
    const brought = outcomes.ofAll(rows.map(({ id }) => id));
    tallies.show(rows, config);
    for (const { id, arm } of rows) {
      const outcome = brought.get(id);
      if (outcome) tallies.change(id, arm, config, null, broughtOf({ ...outcome, ...stateOf(outcome.converted) }));
    }
    // The impressions of a list were shown in one millisecond, so lists are whole.
    lists.recount(rows, config);
  }
}
