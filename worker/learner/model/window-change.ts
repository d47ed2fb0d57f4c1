import { bucketAt } from "../../domain/impression/bucket.ts";
import type { Windows } from "../../domain/model/goals.ts";
import { differences } from "../../domain/model/reconfiguration.ts";
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
  if (before.window.ms !== config.window.ms) closeUntil(store, Date.now() - config.window.ms - graceMs);
  store.impressions.recount(config, before);
  // The policies learn these after their snapshot, when they start.
  for (const event of conversions.removeTimely(before, config)) enter(store, event, config, "in time");
}

/** Moves the marks of closing and audit to bounds of the window's buckets, and opens the impressions shown since a time again. */
function closeUntil(store: LearnerStore, since: number): void {
  const { config, watermark, audited } = store.model;
  const closed = bucketAt(Math.max(0, Math.min(watermark, since)), config.window.ms);
  store.moveBounds(closed, bucketAt(Math.min(audited, closed), config.window.ms));
}
