// The lines of a model's event log, one schema for each kind, as a worker exports them. Their types, the check of an import and of the
// commands, the columns of the archive and the table of docs/log.md follow from these schemas.

import * as v from "valibot";
import { decided } from "../../protocol/decision.ts";
import { actionId, fields, finite, formed, goal, list, modelName, numbers, record, text, wholeNumber } from "../../protocol/forms.ts";
import { encoderOptions, storedSchemas } from "../../protocol/model-options.ts";
import { MOST_SHARDS } from "../../protocol/most.ts";
import { catalogueAction, features, MOST_ACTIONS } from "../../protocol/schema.ts";
import { LAST_MS } from "../../protocol/timestamp.ts";
import type { ModelConfig } from "../model/model.ts";

const count = wholeNumber(0, Number.MAX_SAFE_INTEGER);
/** In ms since 1970. */
const time = wholeNumber(0, LAST_MS);
const digest = v.string();
const hash = formed(/^[\w-]{22}$/, "a hash as an export has it");

/** Of each line. A receipt is absent in a log that is made by hand. */
const sealed = { receipt: v.optional(hash) };
/** Of each event. Every shard numbers its lines by itself. `shard` is absent for shard 0, whose numbers are the versions of the model. */
const event = { seq: count, shard: v.optional(wholeNumber(0, MOST_SHARDS - 1)), ...sealed };

export const impression = {
  type: v.literal("impression"),
  ...event,
  id: text(256),
  state: v.picklist(["live", "deferred", "void"]),
  arm: v.picklist(["policy", "holdout", "default", "catalogue"]),
  action: actionId,
  round: v.nullable(count),
  version: count,
  reward: v.nullable(finite),
  context: v.nullable(features),
  decision: v.nullable(decided),
  converted: v.boolean(),
  shownAt: time,
  features: numbers(4096),
  hashes: list(hash, 8),
  byPage: v.optional(v.boolean()),
  sampling: v.optional(wholeNumber(0, 16)),
};

export const conversion = {
  type: v.literal("conversion"),
  ...event,
  impression: text(256),
  goal,
  event: text(1024),
  reward: v.nullable(finite),
  restates: v.optional(v.boolean()),
  at: time,
  status: v.picklist(["applied", "conflict", "late", "orphan", "void", "refused"]),
  hash: v.optional(hash),
  action: v.optional(v.nullable(actionId)),
};

const erased = { type: v.literal("erased"), ...event, id: text(256) };

const { window, policy, ...options } = storedSchemas();
/** A log outlives its version: later ones have more options, or another encoder. What computes with features asks for its own encoder. */
const config = v.pipe(
  fields({
    window,
    policy,
    ...v.partial(v.object(options)).entries,
    encoder: v.optional(v.nullable(fields({ version: count, ...encoderOptions }))),
    defaults: v.optional(count),
  }),
  v.transform((stored) => stored as ModelConfig),
);
/** Counters of the model that a rollback restores. */
const counts = record(v.string(), finite, 10_000);
const marked = { type: v.literal("mark"), ...event, mark: v.string(), content: v.unknown() };
const mark = <Name extends string, Content extends v.GenericSchema>(name: Name, content: Content) =>
  fields({ ...marked, mark: v.literal(name), content });
const marks = v.variant("mark", [
  mark("configuration", config),
  // Set if another part of the same change follows.
  mark(
    "actions",
    fields({ size: count, changed: list(v.strictTuple([count, catalogueAction]), MOST_ACTIONS), more: v.optional(v.literal(true)) }),
  ),
  mark("snapshot", fields({ digest, counts, time })),
  // In another shard, `at` is the version of shard 0 at which all took over.
  mark("relearnt", fields({ config, startedAt: time, digest, at: v.optional(count), counts, time })),
  // The sums of all shards, at the versions of the shards in the order of their numbers.
  mark("merged", fields({ digest, shards: list(count, MOST_SHARDS), time })),
  mark("rollback", fields({ to: count, counts, time })),
  mark("erasure", fields({ impression: text(256) })),
]);

const head = {
  type: v.literal("model"),
  // A later form of the log will state its number.
  format: v.optional(v.literal(1)),
  model: modelName,
  generation: time,
  horizon: time,
  modelVersion: count,
  config,
  shards: v.optional(wholeNumber(1, MOST_SHARDS)),
  after: count,
  lines: count,
  exportedAt: time,
  archive: v.optional(v.array(fields({ key: v.string(), rows: count, sha256: v.string(), shard: v.optional(count) }))),
  digest: v.nullable(digest),
  ...sealed,
};

const end = { type: v.literal("end"), lines: count, ...sealed };

/** The kinds of line that an import skips. */
export const others = [fields(erased), marks, fields(head), fields(end)] as const;
/** A line of an exported log. */
export const logLine = v.variant("type", [fields(impression), fields(conversion), ...others]);

/** The fields of each kind of event. */
export const EVENTS: Readonly<Record<EventLine["type"], v.ObjectEntries>> = { impression, conversion, mark: marked, erased };

/** The fields of each kind of line. */
export const KINDS = { model: head, ...EVENTS, end };

type LogLine = v.InferOutput<typeof logLine>;
export type ImpressionLine = Extract<LogLine, { readonly type: "impression" }>;
export type ConversionLine = Extract<LogLine, { readonly type: "conversion" }>;
export type MarkLine = Extract<LogLine, { readonly type: "mark" }>;
export type MarkContent<Name extends MarkLine["mark"]> = Extract<MarkLine, { readonly mark: Name }>["content"];
/** A row that an erasure empties. */
export type HeldLine = ImpressionLine | ConversionLine;
export type ErasedLine = Extract<LogLine, { readonly type: "erased" }>;
/** A row of the log. */
export type EventLine = ImpressionLine | ConversionLine | MarkLine | ErasedLine;
/** The first line of an export. */
export type HeadLine = Extract<LogLine, { readonly type: "model" }>;
/** The last line of a log that lost rows while it was read: the number of its events, which is less than the head states. */
export type EndLine = Extract<LogLine, { readonly type: "end" }>;

type KeyOf<Line> = Line extends unknown ? keyof Line : never;
/** The fields that are kept in an archive. */
export type ArchivedField = Exclude<KeyOf<EventLine>, "shard" | "receipt">;
export type Field = KeyOf<LogLine>;

/** The impression that an event is about. */
export const impressionOf = (line: Exclude<EventLine, MarkLine>): string => (line.type === "conversion" ? line.impression : line.id);
