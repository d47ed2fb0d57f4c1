// The options of a model. Requests, answers, types, defaults, the description and docs/api.md follow from the table below.

import * as v from "valibot";
import {
  actionId,
  choice,
  currency,
  fields,
  finite,
  goal,
  isObject,
  list,
  optional,
  type Refusal,
  record,
  share,
  strictObject,
  text,
  wholeNumber,
} from "./forms.ts";
import { MOST_AMOUNT, MOST_BYTES, MOST_OPEN, MOST_PLACES, MOST_SHARDS, MOST_SOLD } from "./most.ts";
import { got } from "./sentence.ts";

/**
 * Consequence of a change of an option. `growth`: only a larger number is taken. `relearning`: the model has to learn its log again, or to
 * forget.
 */
export type Change = "nothing" | "growth" | "relearning";

interface Option {
  /** The value in a request. */
  readonly schema: v.GenericSchema;
  /** The value in a stored configuration and in answers, if its schema is another one. */
  readonly stored?: v.GenericSchema;
  /** The value that is stored if a new model does not name the option, and the value of models that are older than the option. */
  readonly default?: unknown;
  readonly change: Change;
}

const DAY_MS = 86_400_000;
const YEAR_MS = 366 * DAY_MS;
const MAX_NESTING = 6;

/** The SDK checks the content. */
const settings = v.pipe(
  record(text(64), v.unknown(), 64),
  v.check((value) => !deeperThan(value, MAX_NESTING), `expected at most ${MAX_NESTING} levels of nesting`),
);

const duration = (least: number, most: number) => strictObject({ ms: wholeNumber(least, most) });
const windowFields = duration(1, YEAR_MS);
const noWindow: Refusal = v.custom<never>(
  () => false,
  ({ input }) => `expected { "ms": 604800000 } for a week, got ${got(input)}`,
);
const window = choice([windowFields], (input): typeof windowFields | Refusal =>
  (isObject(input) && !Array.isArray(input)) || input === undefined ? windowFields : noWindow,
);

const range = strictObject({ min: finite, max: finite });
const goals = record(
  goal,
  strictObject({
    weight: v.pipe(finite, v.minValue(-1000), v.maxValue(1000)),
    window: v.optional(window),
    after: v.optional(goal),
    delay: v.optional(window),
    public: v.optional(v.boolean()),
    renewals: v.optional(v.picklist(["first", "all"])),
    value: v.optional(strictObject({ currency, max: v.optional(v.pipe(finite, v.gtValue(0), v.maxValue(MOST_AMOUNT))) })),
  }),
  64,
);
const examination = v.pipe(list(v.pipe(finite, v.gtValue(0), v.maxValue(1)), MOST_PLACES), v.minLength(1));
const count = v.pipe(finite, v.minValue(0), v.maxValue(1e12));
const prior = strictObject({
  sales: v.pipe(
    list(strictObject({ action: actionId, sales: count, views: v.optional(count) }), MOST_SOLD),
    v.check(
      (sales) => new Set(sales.map(({ action }) => action)).size === sales.length,
      ({ input }) => `expected each action once, got ${repeated(input.map(({ action }) => action))} twice`,
    ),
  ),
  from: v.optional(wholeNumber(0, 2 ** 47)),
  until: v.optional(wholeNumber(0, 2 ** 47)),
});
const leaveOut = strictObject({
  bought: v.optional(choice([v.boolean(), goal], (input) => (typeof input === "string" ? goal : v.boolean()))),
  shown: v.optional(strictObject({ times: wholeNumber(1, 100), within: duration(1000, 30 * DAY_MS) })),
});
const shadow = { name: goal, policy: text(64) };
const limits = {
  open: wholeNumber(1, MOST_SHARDS * MOST_OPEN),
  bytes: wholeNumber(1_000_000, MOST_SHARDS * MOST_BYTES),
  deferred: wholeNumber(0, 1_000_000),
};
/** Options of the SDK's encoder. */
export const encoderOptions = {
  dimension: wholeNumber(2, 4096),
  numeric: v.optional(v.record(v.string(), range)),
  interactions: v.optional(v.union([v.literal("all"), v.array(v.strictTuple([v.string(), v.string()]))])),
  vocabulary: v.optional(v.array(v.union([v.strictTuple([v.string()]), v.strictTuple([v.string(), v.string()])]))),
};
/** With the version that learnt vectors are of. */
const encoder = fields({ version: v.literal(4), ...encoderOptions });

export const modelOptions = {
  window: { schema: window, change: "relearning" },
  policy: { schema: text(64), default: "delay-lin-ts", change: "relearning" },
  options: { schema: settings, default: {}, change: "relearning" },
  reward: { schema: range, default: { min: 0, max: 1 }, change: "relearning" },
  // Null if features are arrays of numbers. `learningDefaults` has the default, which depends on the policy.
  encoder: { schema: settings, stored: v.nullable(encoder), change: "relearning" },
  seed: { schema: v.pipe(v.number(), v.safeInteger()), default: 0, change: "relearning" },
  // Null takes every goal with weight 1.
  goals: { schema: goals, stored: v.nullable(goals), default: null, change: "relearning" },
  // Absent: every place is examined.
  examination: { schema: examination, stored: v.optional(examination), change: "relearning" },
  // Absent: nothing is known. An empty list takes a prior back.
  prior: { schema: prior, stored: v.optional(prior), change: "nothing" },
  shadows: {
    schema: list(strictObject({ ...shadow, options: v.optional(settings) }), 2),
    stored: list(strictObject({ ...shadow, options: settings }), 2),
    default: [],
    change: "relearning",
  },
  // `configureModel` decides for a new model, by its policy.
  serving: { schema: v.picklist(["edge", "learner"]), default: "edge", change: "nothing" },
  draws: { schema: wholeNumber(0, 1000), default: 100, change: "nothing" },
  greedy: { schema: v.boolean(), default: false, change: "nothing" },
  holdout: { schema: share(0.5), default: 0, change: "nothing" },
  minimumShare: { schema: share(0.5), default: 0, change: "nothing" },
  defaultAction: { schema: v.nullable(actionId), default: null, change: "nothing" },
  // Absent, or without parts: nothing is left out.
  leaveOut: { schema: leaveOut, stored: v.optional(leaveOut), change: "nothing" },
  shards: { schema: wholeNumber(1, MOST_SHARDS), default: 1, change: "growth" },
  // `withDefaults` has fewer open impressions for a Gaussian process.
  limits: {
    schema: strictObject(optional(limits)),
    stored: strictObject(limits),
    default: { open: 2_000_000, bytes: 2_000_000_000, deferred: 10_000 },
    change: "nothing",
  },
  deferral: { schema: duration(1000, DAY_MS), default: { ms: 3_600_000 }, change: "nothing" },
  retention: { schema: duration(DAY_MS, YEAR_MS), default: { ms: 30 * DAY_MS }, change: "nothing" },
  publish: { schema: duration(1000, DAY_MS), default: { ms: 120_000 }, change: "nothing" },
  local: { schema: v.boolean(), default: false, change: "nothing" },
  pageActions: { schema: v.boolean(), default: false, change: "nothing" },
  // Null: the features that no action has as an attribute.
  pageAttributes: { schema: v.nullable(list(text(64), 64)), default: null, change: "nothing" },
  pageKeys: { schema: v.picklist(["own", "shared"]), default: "own", change: "nothing" },
  pageLimit: { schema: wholeNumber(1, 100), default: 20, change: "nothing" },
  pageShare: { schema: share(1), default: 1, change: "nothing" },
  featureNorm: { schema: v.pipe(finite, v.gtValue(0), v.maxValue(1e6)), default: 1, change: "nothing" },
} as const satisfies Readonly<Record<string, Option>>;

type Table = typeof modelOptions;
export type OptionName = keyof Table;
type With<Part extends object> = { [Name in OptionName]: Table[Name] extends Part ? Name : never }[OptionName];
type StoredSchemas = { [Name in OptionName]: Table[Name] extends { stored: infer Schema } ? Schema : Table[Name]["schema"] };

/** Read-only at every depth. */
export type Frozen<T> = unknown extends T ? T : { readonly [Key in keyof T]: Frozen<T[Key]> };

type Complete = Frozen<v.InferOutput<v.StrictObjectSchema<StoredSchemas, undefined>>>;

/** The options of a model, with all defaults filled in. A remote call takes no `unknown`, so options of policies have no names. */
export interface ModelOptions extends Omit<Complete, "options" | "shadows"> {
  readonly options: object;
  readonly shadows: readonly (Omit<Complete["shadows"][number], "options"> & { readonly options: object })[];
}

/** Names of the options that learnt state depends on. */
export type LearntName = With<{ change: "relearning" }>;

function ofEach<Value>(value: (option: Option) => Value): Record<string, Value> {
  const entries = Object.entries<Option>(modelOptions).map(([name, option]) => [name, value(option)] as const);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

/** Schemas of the options in a request. */
export const optionSchemas = ofEach(({ schema }) => schema) as { readonly [Name in OptionName]: Table[Name]["schema"] };

/** Schemas of the options in an answer. */
export const storedSchemas = () => ofEach(({ schema, stored = schema }) => stored) as StoredSchemas;

export const DEFAULTS = ofEach(({ default: value }) => value) as Pick<ModelOptions, With<{ default: unknown }>>;

export const LEARNT = Object.keys(ofEach(({ change }) => (change === "relearning" ? change : undefined))) as LearntName[];

/** Meanings of the options, in Markdown with the links of `docs/api.md`. The worker leaves these texts out of its bundle. */
export const MEANINGS: Readonly<Record<OptionName, string>> = {
  window: '`{ "ms" }`: how long after its impression a conversion counts, at most 366 days.',
  policy: "Id of a [policy](choosing.md#all-policies).",
  options: "Options of the policy, at most six levels deep.",
  reward: "Range of rewards.",
  encoder:
    '`{ "dimension", "numeric", "interactions" }`: [turns named features into a vector](#features-by-name). A numeric feature needs its range. The defaults complete an encoder that is given in part: `"interactions": []` turns interactions off. With `options.dimension` and no encoder, features are arrays of numbers.',
  seed: "Seed of the policy's randomness.",
  goals:
    '`{ "click": { "weight": 0, "window": { "ms": 3600000 } }, "purchase": { "weight": 1, "after": "click" } }`: [goals by name](#goals). The model refuses other goals. `weight`: factor on the goal\'s rewards. `window`: how long its conversions count, at most the model\'s window. `after`: the goal that visitors reach before it. `delay`: the delay of all its conversions, if it is known. `value`: its rewards are amounts of money in a currency, which add up; an amount above `max` counts as `max`, by default one beyond ten times what 99 % do not exceed counts as the greatest within that. `public`: whether pages may report it. `renewals`: whether only the `first` payment of a subscription counts, the default, or `all`. These two may change at any time.',
  examination:
    "`[1, 0.7, 0.5]`: [probability that a visitor examines each place](choosing.md#lists) of a list, relative to the first. Later places have the last one. Delay-aware linear policies then count an impression by its place. [Estimate them](#examination-of-places) from the log.",
  prior:
    '`{ "sales": [{ "action": "mug", "sales": 61, "views": 1800 }], "from", "until" }`: [what the shop sold before](#what-the-shop-knows), for up to 5,000 products. An empty list takes it back. Only for policies that take a prior.',
  shadows:
    'Up to two policies `{ "name", "policy", "options" }` that learn and choose beside the served one. The model records their choices and shows none.',
  serving:
    '`"edge"`: [any isolate decides](deploy.md#what-the-worker-guarantees) by the newest publication. `"learner"`: the learner decides, and knows every earlier decision but those of the same moment. Policies that decide in sequence take only the learner.',
  draws: "Samples from which a Thompson policy computes propensities. 0 computes none.",
  greedy: "Whether to rank by the mean alone.",
  holdout:
    "Share of lists in random order, up to 0.5: a control group for the lift on the dashboard, which compares rates within each share.",
  minimumShare: "Least probability of each candidate at the first place, up to 0.5.",
  defaultAction: "Action to serve when no candidate is left, whatever the filter. `null` for none.",
  leaveOut:
    '`{ "bought": "purchase", "shown": { "times": 3, "within": { "ms": 86400000 } } }`: [what a visitor has bought, or seen often](#leave-out-what-a-visitor-has-bought), is left out of requests with join keys. `bought`: the goal of a purchase, or `true` for any conversion with a positive reward. `{}` takes the rule back.',
  shards:
    "Learners that share the model's events, up to 32. Each learner [takes its part](sizing.md#several-learners). Only for policies whose state is a sum: `delay-lin-ts`, `delay-lin-ucb` and `bestsellers`.",
  limits:
    "Most impressions in open buckets, most bytes stored, and most deferred impressions. From three quarters of one of the first two on, the model [keeps a sample of its impressions](sizing.md#limits-of-a-model). Deferred impressions over the limit get 429, those of pages from half of it on. A Gaussian process has 200,000 open impressions by default.",
  deferral: "How long a deferred impression waits to be shown, up to a day.",
  retention: "How long the log keeps rows after their bucket closes, from a day to 366 days.",
  publish:
    "How long a learnt event may wait for its publication. A young model [publishes sooner](architecture.md#publication), at most once a second.",
  local:
    "Whether pages may take publications with a publishable key, [decide by themselves](browser.md#decide-by-a-workers-publications) and register their impressions. Only for linear policies without holdout and shadows.",
  pageActions:
    "Whether a publishable key may name actions outside the catalogue, with their features. Numbers must lie inside the unit ball. Otherwise it names actions of the catalogue by id.",
  pageAttributes:
    "Names of attributes and features by which a publishable key may `filter`, `boost` and bound `maxPer`, up to 64. `null`: the features that no action has as an attribute.",
  pageKeys:
    '`"own"`: join keys given with a publishable key meet no conversions of your backend. `"shared"`: a key is the same whoever gives it, so anyone with the publishable key can claim a purchase.',
  pageLimit: "Most items of one recommendation to a publishable key, up to 100.",
  pageShare: "Greatest share of impressions with a publishable key among those that the model learns from. 0 leaves them all out.",
  featureNorm: "Greatest norm of context and features together, of a model without an encoder.",
};

/** Defaults of a new model that are no constants, or need words. */
export const DEFAULT_TEXTS: Readonly<Partial<Record<OptionName, string>>> = {
  window: "none, it is required",
  options: "those of the policy",
  encoder: "all interactions; 256 dimensions for `delay-lin-ts` and `delay-lin-ucb`, 64 for other policies and for `local` models",
  goals: "every goal, with weight 1",
  examination: "every place is examined",
  prior: "nothing is known",
  leaveOut: "nothing is left out",
  shadows: "none",
  serving:
    '`"learner"` for policies that decide in sequence, and for deterministic ones without a `minimumShare` and with one shard; `"edge"` for all others',
};

/** The first entry that comes a second time. */
function repeated(names: readonly string[]): string | undefined {
  return names.find((name, i) => names.indexOf(name) < i);
}

function deeperThan(value: unknown, levels: number): boolean {
  if (value === null || typeof value !== "object") return false;
  return levels === 0 || Object.values(value).some((inner) => deeperThan(inner, levels - 1));
}
