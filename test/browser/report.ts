import type { Explanation } from "../../worker/protocol/answers.ts";
import type { Bucket, Examination, Metrics } from "../../worker/protocol/metrics-answer.ts";

// Reports of a worker with a busy model. The numbers are invented and the same at each run.

const HOUR = 3_600_000;
const NOW = Date.UTC(2026, 10, 21, 12);
const WINDOW = 24 * HOUR;
const HOURS = 96;

/** An hour's impressions. The rate grows, and only conversions that have had time to arrive are counted for the last day. */
function bucketsAt(hoursAgo: number): Bucket[] {
  const age = Math.min(1, (hoursAgo + 0.5) / 24);
  const crowd = 260 + Math.round(140 * Math.sin((2 * Math.PI * (HOURS - hoursAgo)) / 24));
  const skill = 0.05 + 0.06 * (1 - hoursAgo / HOURS);
  const wobble = 0.004 * Math.sin(7 * hoursAgo);
  const bucket = (arm: "policy" | "holdout", impressions: number, rate: number): Bucket => ({
    start: NOW - hoursAgo * HOUR,
    arm,
    impressions,
    converted: Math.round(impressions * (rate + wobble) * Math.sqrt(age)),
    reward: Math.round(impressions * (rate + wobble) * Math.sqrt(age)),
    closed: hoursAgo > 25,
  });
  return [bucket("policy", crowd, skill), bucket("holdout", Math.round(crowd / 9), 0.045)];
}

const recent = ["boots", "hat", "boots", "scarf", "umbrella", "boots", "gloves"].map((action, i) => ({
  impressionId: `01a-${i}.token`,
  action,
  shownAt: NOW - (i + 1) ** 3 * 9000,
  modelVersion: 29_080 - i,
  status: i % 3 === 2 ? ("converted" as const) : ("pending" as const),
}));

export const busy: Metrics = {
  model: "shop",
  policy: "otf-lin-ts",
  serving: "edge",
  now: NOW,
  windowMs: WINDOW,
  counts: {
    impressions: 27_413,
    pending: 6_120,
    converted: 1_904,
    retracted: 12,
    expired: 19_377,
    applied: 1_951,
    duplicate: 212,
    crawlers: 0,
    declined: 0,
    late: 37,
    conflict: 1,
    orphan: 4,
    fromPages: 0,
    pageGoals: 0,
  },
  reached: null,
  currency: null,
  change: null,
  snapshot: { version: 29_100, publishedAt: NOW - 4200, ageMs: 4200 },
  lagMs: 380,
  senders: [],
  encoding: { dimension: 256, exact: 34, shared: 2, alike: [["mug", "cup"]] },
  bucketMs: HOUR,
  buckets: Array.from({ length: HOURS }, (_, i) => bucketsAt(HOURS - 1 - i)).flat(),
  pendingByAge: Array.from({ length: 12 }, (_, i) => ({
    fromMs: i * 2 * HOUR,
    toMs: (i + 1) * 2 * HOUR,
    count: 640 - 24 * i - (i % 3) * 30,
  })),
  delay: {
    completeUntil: NOW,
    reportTime: null,
    impressions: 27_413,
    conversions: 1904,
    rateSoFar: 1904 / 27_413,
    followedMs: WINDOW,
    rate: 0.0742,
    rateInterval: [0.0709, 0.0776],
    toCome: 131.4,
    toComeInterval: [104.2, 160.7],
    window95Ms: 11.2 * HOUR,
    distribution: Array.from({ length: 33 }, (_, i) => {
      const probability = 1 - Math.exp(-(2 ** ((i - 32) * 0.375) * WINDOW) / (3.7 * HOUR));
      const margin = 0.06 * Math.sqrt(4 * probability * (1 - probability));
      return {
        delayMs: 2 ** ((i - 32) * 0.375) * WINDOW,
        probability,
        low: probability - margin,
        high: probability + margin,
        stillConverts: (0.0742 * (1 - probability)) / (1 - 0.0742 * probability),
      };
    }),
    quantiles: [0.25, 0.5, 0.75, 0.9, 0.95].map((share) => ({ share, delayMs: -Math.log(1 - share) * 3.7 * HOUR })),
    windows: [{ windowMs: WINDOW, caught: 1, low: 1, high: 1, rate: 0.0742 }],
    silence: { since: NOW - 130_000, expected: 0.42, chance: 0.66, alarm: false },
  },
  goals: null,
  delays: Array.from({ length: 28 }, (_, i) => ({
    fromMs: i === 0 ? 0 : 2 ** (i - 1),
    toMs: i === 27 ? null : 2 ** i,
    count: Math.round(420 * Math.exp(-((i - 21) ** 2) / 6)),
  })),
  lift: {
    unassigned: 0,
    goals: [
      {
        goal: "conversion",
        completeUntil: NOW,
        windowMs: WINDOW,
        withinMs: WINDOW,
        currency: null,
        policy: { lists: 18_211, impressions: 18_211, conversions: 1380, rate: 0.0822 },
        holdout: { lists: 2023, impressions: 2023, conversions: 86, rate: 0.0453 },
        effect: 0.01,
        difference: { value: 0.0369, low: 0.0262, high: 0.0476 },
        relative: 0.815,
        decided: true,
        basis: "all",
        shares: [{ holdout: 0.1, lists: { policy: 18_211, holdout: 2023 }, compared: true }],
      },
    ],
  },
  recent,
};

/** A model without impressions. */
export const idle: Metrics = {
  ...busy,
  model: "blog",
  serving: "learner",
  counts: {
    impressions: 0,
    pending: 0,
    converted: 0,
    retracted: 0,
    expired: 0,
    applied: 0,
    duplicate: 0,
    crawlers: 0,
    declined: 0,
    late: 0,
    conflict: 0,
    orphan: 0,
    fromPages: 0,
    pageGoals: 0,
  },
  snapshot: null,
  lagMs: null,
  encoding: null,
  buckets: [],
  pendingByAge: busy.pendingByAge.map((bar) => ({ ...bar, count: 0 })),
  delay: null,
  delays: [],
  lift: null,
  recent: [],
};

/** The newest impression of the busy model. */
export const explained: Explanation = {
  impressionId: recent[0].impressionId,
  model: "shop",
  status: "converted",
  action: "boots",
  arm: "policy",
  shownAt: recent[0].shownAt,
  windowEndsAt: recent[0].shownAt + WINDOW,
  modelVersion: 29_087,
  context: null,
  decision: {
    score: 0.1312,
    mean: 0.1043,
    width: 0.0311,
    probability: 0.412,
    place: 0,
    candidates: 6,
    shadows: { greedy: "boots", ucb: "hat" },
  },
  candidates: [
    { id: "hat", belief: { mean: 0.0812, average: 0.0812, low: 0.041, high: 0.1214 }, score: 0.0955 },
    { id: "boots", belief: { mean: 0.1043, average: 0.1043, low: 0.0732, high: 0.1354 }, score: 0.1312 },
    { id: "scarf", belief: { mean: 0.0514, average: 0.0514, low: 0.0221, high: 0.0807 }, score: 0.0611 },
    { id: "umbrella-with-a-long-name", belief: { mean: 0.0202, average: 0.0408, low: 0, high: 0.0816 }, score: 0.0488 },
    { id: "gloves", belief: { mean: 0.0333, average: 0.0343, low: 0, high: 0.0685 }, score: 0.0101 },
    { id: "socks", belief: { mean: 0, average: 0.0205, low: 0, high: 0.0411 }, score: -0.0213 },
  ],
  conversions: [
    { goal: "basket", reward: 0.25, at: recent[0].shownAt + 61_000, status: "applied" },
    { goal: "conversion", reward: 1, at: recent[0].shownAt + 7_300_000, status: "applied" },
  ],
  reward: 1,
  currency: null,
  currencies: {},
  now: { mean: 0.112, average: 0.112, low: 0.0822, high: 0.1418 },
};

/** Examination of places in the busy model. The fourth place has too few conversions to compare. */
export const examined: Examination = {
  model: "shop",
  configured: [1, 0.8, 0.6],
  lists: 2023,
  since: NOW - 9 * WINDOW,
  places: [
    { impressions: 2023, converted: 164, weight: 1, low: 1, high: 1 },
    { impressions: 2023, converted: 117, weight: 0.7134, low: 0.5622, high: 0.9053 },
    { impressions: 2020, converted: 81, weight: 0.4939, low: 0.3779, high: 0.6455 },
    { impressions: 20, converted: 0, weight: { tooFew: { more: 18, of: "conversions at this place or the first" } }, low: 0, high: 1 },
  ],
  examination: [1, 0.71, 0.49],
  clickModels: {
    best: "position-based",
    models: [
      { name: "no-bias", logLikelihood: -0.2213, perplexity: 1.2477, behind: { value: 0.0041, low: 0.0012, high: 0.007 } },
      { name: "position-based", logLikelihood: -0.2172, perplexity: 1.2426, behind: { value: 0, low: 0, high: 0 } },
      { name: "item-position", logLikelihood: -0.2181, perplexity: 1.2437, behind: { value: 0.0009, low: -0.0004, high: 0.0022 } },
    ],
  },
};
