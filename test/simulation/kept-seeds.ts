/** Schedules that once broke a law; they always run. */
export const keptSeeds: readonly number[] = [
  // Rolled back to a snapshot that an earlier rollback had undone: it held impressions that counted for nothing.
  142, 340,
  // Only KV had taken a conversion, and its learner had no row of that bucket: the bucket was never closed.
  476, 1538,
];
