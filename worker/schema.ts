import { sValidator } from "@hono/standard-validator";
import * as v from "valibot";
import { Problem } from "./problem.ts";

// Bodies of requests. Unknown keys are refused: a misspelt option must not be ignored in silence.
// Numbers are finite, counts and lengths are capped. What only a model can know is checked by its learner.

const MAX_NESTING = 6;
const YEAR_MS = 366 * 86_400_000;

const finite = v.pipe(v.number(), v.finite());
const text = (maxLength: number) => v.pipe(v.string(), v.minLength(1), v.maxLength(maxLength));
const model = v.pipe(
  v.string(),
  v.regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, "expected 1 to 64 letters, digits, dots, dashes or underscores"),
);
const actionId = text(128);

/** One of two forms, by what came: the errors of that form are then told, not that neither fits. */
const listOr = <List extends v.GenericSchema, Other extends v.GenericSchema>(list: List, other: Other) =>
  v.lazy((input: unknown): List | Other => (Array.isArray(input) ? list : other));

/** Milliseconds since 1970, or ISO 8601. */
const timestamp = v.pipe(
  v.union([finite, v.pipe(v.string(), v.isoTimestamp())]),
  v.transform((value) => (typeof value === "string" ? Date.parse(value) : value)),
  v.safeInteger(),
  v.minValue(0),
  v.maxValue(2 ** 47),
);

const category = v.pipe(v.string(), v.maxLength(256));
const features = listOr(
  v.pipe(v.array(finite), v.maxLength(4096)),
  v.pipe(v.record(text(64), v.union([finite, category, v.boolean(), v.pipe(v.array(category), v.maxLength(64))])), v.maxEntries(256)),
);
const action = v.strictObject({ id: actionId, features: v.optional(features) });
const actions = v.pipe(v.array(action), v.maxLength(1000));
/** The SDK checks what is inside. */
const options = v.pipe(
  v.record(text(64), v.unknown()),
  v.check((value) => !deeperThan(value, MAX_NESTING), `expected at most ${MAX_NESTING} levels of nesting`),
);

export const modelParameter = v.object({ model });

export const modelBody = v.strictObject({
  policy: v.optional(text(64)),
  options: v.optional(options),
  window: v.strictObject({ ms: v.pipe(v.number(), v.safeInteger(), v.minValue(1), v.maxValue(YEAR_MS)) }),
  reward: v.optional(v.strictObject({ min: finite, max: finite })),
  serving: v.optional(v.picklist(["edge", "learner"])),
  encoder: v.optional(options),
  seed: v.optional(v.pipe(v.number(), v.safeInteger())),
});

/** A list of actions, or an object with one. */
export const actionsBody = v.pipe(
  listOr(actions, v.strictObject({ actions })),
  v.transform((body) => (Array.isArray(body) ? body : body.actions)),
);

export const recommendationsBody = v.strictObject({
  context: v.optional(features),
  actions: v.optional(v.pipe(actions, v.minLength(1))),
  limit: v.optional(v.pipe(v.number(), v.safeInteger(), v.minValue(1), v.maxValue(100)), 1),
  exclude: v.optional(v.pipe(v.array(actionId), v.maxLength(1000)), []),
});

const impression = v.strictObject({
  id: v.optional(text(256)),
  context: v.optional(features),
  action: v.union([actionId, action]),
  shownAt: timestamp,
});
export const impressionsBody = v.pipe(v.array(impression), v.minLength(1), v.maxLength(1000));

const conversion = v.strictObject({
  impressionId: text(2048),
  reward: finite,
  goal: v.optional(v.pipe(v.string(), v.regex(/^[\w.:-]{1,64}$/, "expected 1 to 64 letters, digits or . : - _")), "conversion"),
  timestamp: v.optional(timestamp),
});

export const conversionsBody = v.strictObject({
  type: v.literal("conversion"),
  timestamp,
  data: listOr(v.pipe(v.array(conversion), v.minLength(1), v.maxLength(500)), conversion),
});

export type Features = v.InferOutput<typeof features>;
export type Action = v.InferOutput<typeof action>;
export type ModelBody = v.InferOutput<typeof modelBody>;
export type RecommendationsBody = v.InferOutput<typeof recommendationsBody>;
export type ImpressionItem = v.InferOutput<typeof impression>;
export type ConversionsBody = v.InferOutput<typeof conversionsBody>;
export type ConversionItem = v.InferOutput<typeof conversion>;

/** Checks a part of a request: 400 if its form is wrong, 422 if a value is out of range. */
export function valid<Target extends "json" | "param", Schema extends v.GenericSchema>(target: Target, schema: Schema) {
  return sValidator(target, schema, (result) => {
    if (result.success) return;
    const issues = result.error as readonly v.BaseIssue<unknown>[];
    const errors = issues.slice(0, 20).map((issue) => ({ path: v.getDotPath(issue) ?? "", message: issue.message }));
    const status = issues.some(({ kind }) => kind === "schema") ? 400 : 422;
    throw new Problem(status, errors.map(({ path, message }) => (path ? `${path}: ${message}` : message)).join("; "), errors);
  });
}

function deeperThan(value: unknown, levels: number): boolean {
  if (value === null || typeof value !== "object") return false;
  return levels === 0 || Object.values(value).some((inner) => deeperThan(inner, levels - 1));
}
