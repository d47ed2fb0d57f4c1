/** Most shards of a model. The coordinator merges the sums of all of them. */
export const MOST_SHARDS = 32;

/** Greatest limits of one shard: impressions in open buckets, and bytes stored. A Durable Object holds 10 GB. */
export const MOST_OPEN = 10_000_000;
export const MOST_BYTES = 9_000_000_000;

/** Largest size of a reward or an amount, as in the SDK: far beyond an order in any currency, in its minor unit too. */
export const MOST_AMOUNT = 1e12;

/** Most items of a list of recommendations. */
export const MOST_PLACES = 100;

/** Most products that the rule for a visitor leaves out of one list. Each of its impressions states them. */
export const MOST_LEFT_OUT = 200;

/** Most products of a prior. Those after them have sold next to nothing. */
export const MOST_SOLD = 5000;
