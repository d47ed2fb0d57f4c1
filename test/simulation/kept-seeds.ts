/** Schedules that once broke a law; they always run. */
export const keptSeeds: readonly number[] = [
  // Only KV had taken a conversion, and its learner had no other row of that bucket: the bucket was never closed.
  248, 3112, 3313, 6906,
];
