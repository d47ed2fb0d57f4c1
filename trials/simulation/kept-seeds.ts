/** Schedules that once violated a law. They always run. */
export const keptSeeds: readonly number[] = [
  // A rollback to a snapshot that an earlier rollback had undone. Its impressions counted for nothing.
  142, 340,
  // Only KV had a conversion, and the learner had no row of its bucket, so the bucket was never closed.
  476, 1538,
  // An activation was accepted, and the isolate that held its registration died. The shop's record took it for registered.
  20088,
  // A backend's activation was forgotten after an hour, and the isolate registered its impression later.
  1898, 6576,
  // An event came while a rollback had undone its impression, or again after its bucket was closed. Both are late; the law did not know.
  795, 7451,
];

/** The same for models with several shards. */
export const keptShardedSeeds: readonly number[] = [
  // A failure of the coordinator beside one of another shard was left unhandled.
  1018, 1905,
  // A shard was made, and the change of configuration that asked for it failed. Its alarm came again and again.
  51073,
  // KV took an event so late that the list of the closing lacked it. The answer was "accepted" all the same.
  54491,
  // As above: an accepted activation whose registration died with its isolate.
  20321, 20650,
];

/** The same where catalogues grow and priors come late. */
export const keptInformedSeeds: readonly number[] = [
  // The second item of a deferred list was activated before the first, and `verify` decided a list of one.
  246,
  // A conversion waited for a start while the catalogue grew, and was learnt before the policy knew the prior of the new product.
  941,
  // The items of a deferred list were activated before and after a snapshot, and `verify` had decided a list of one.
  1108,
];

/** Seeds of crowded schedules that once broke a law. */
export const keptCrowdedSeeds: readonly number[] = [
  // The alarm could not be set after a group had been registered, and each of its calls was decided again.
  95, 148, 342, 900, 1414,
];
