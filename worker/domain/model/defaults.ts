/** Version of all defaults. It rises when one of them changes. A model keeps those of its creation. Since 4 a reward of 0 is silence. */
export const DEFAULTS_VERSION = 4;

/** Most impressions in open buckets for a Gaussian process, which holds their features in memory. */
export const MOST_HELD = 200_000;
