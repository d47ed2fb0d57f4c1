// The messages of the learner's calls. Two versions of the code exchange them during a deployment.
// Arguments and results of a learner's methods. Times are milliseconds since 1970.

import type { ConversionStatus, IngestedStatus } from "../domain/conversion/conversion.ts";
import type { ByKey, ConversionEvent } from "../domain/conversion/event.ts";
import type { Recommended } from "../domain/decision/decision.ts";
import type { KeyHashes, RequestKeys } from "../domain/ids/join-key.ts";
import type { Impression } from "../domain/ids/token.ts";
import type { ImpressionState } from "../domain/impression/impression.ts";
import type { LeftOut, Sampling, Unlearnt } from "../domain/impression/sampling.ts";
import type { HeadLine } from "../domain/log/log-line.ts";
import type { LogRow } from "../domain/log/log-row.ts";
import type { ModelConfig } from "../domain/model/model.ts";
import type * as Answers from "../protocol/answers.ts";
import type { Assignment } from "../protocol/figures.ts";
import type { Examination as ExaminationBody, Metrics } from "../protocol/metrics-answer.ts";
import type { ModelBody } from "../protocol/model-answer.ts";
import type { ProblemStatus } from "../protocol/problem.ts";
import type { Action, Features, RecommendationsBody } from "../protocol/schema.ts";
import type { Recent } from "./model-counts.ts";

/** A result or a refusal. A remote call would drop the fields of a thrown error, so a refusal is a value. */
export type Answer<T> = { readonly value: T } | { readonly problem: { readonly status: ProblemStatus; readonly detail: string } };

export type Description = ModelConfig & Omit<ModelBody, keyof ModelConfig>;

export interface RecommendRequest extends Omit<RecommendationsBody, "keys" | "learn" | "userAgent" | "requestId"> {
  readonly keys: RequestKeys;
  /** Names the question with all that it asks. Absent without a request id. */
  readonly repeat?: string;
  /** Why its impressions are not learnt. Absent if they are. */
  readonly unlearnt?: Unlearnt;
  readonly byPage: boolean;
  /** Name of the page's address in this minute. */
  readonly asker?: string;
}

/** The join keys of a visitor, as hashes. */
export interface SeenQuestion {
  readonly keys: KeyHashes;
  /** Whether a page asks. */
  readonly byPage: boolean;
  /** Shards that are asked already. Absent: none. */
  readonly asked?: readonly number[];
}

export interface Recommendation {
  readonly generation: number;
  readonly sampling: number;
  readonly modelVersion: number;
  readonly policy: string;
  readonly arm: Assignment;
  readonly windowEndsAt: number;
  readonly shard: number;
  /** Best first. */
  readonly actions: readonly Recommended[];
}

/** A decision of an isolate. */
export interface ShownDecision {
  /** Generation of the model that decided. */
  readonly generation: number;
  /** Number of its impressions in the block. */
  readonly count: number;
  readonly keys: readonly KeyHashes[];
  /** Number of its impressions that the sampling left out. */
  readonly unsampled: number;
  /** Why they are not learnt, if it was not the sampling. */
  readonly unlearnt?: Unlearnt;
  readonly byPage: boolean;
  /** Name of the page's address in this minute. */
  readonly asker?: string;
  readonly deferred: boolean;
}

/** Impressions that an isolate has shown since its last registration. */
export interface ShownBatch {
  /** One entry per decision, in the order of the block. */
  readonly decisions: readonly ShownDecision[];
  /** The impressions of all decisions, see `block.ts`. Null if the sampling left out all. */
  readonly block: Uint8Array<ArrayBuffer> | null;
  /** Impressions that the isolate dropped. */
  readonly dropped: number;
  /** Publications that the isolate did not take. */
  readonly keptOut: number;
}

/** Metrics with what the ids of the recent impressions state. */
export interface Measurement extends Omit<Metrics, "recent" | "senders"> {
  readonly generation: number;
  readonly recent: readonly Recent[];
}

/** An order as it is counted. */
export interface CountedOrder {
  readonly attributed: boolean;
  /** Why its latest message was ignored, in a word. Null if it was not. */
  readonly reason: string | null;
}

/** The orders of a sender on a day, in UTC. */
export interface OrderDay {
  readonly sender: string;
  readonly day: string;
  readonly orders: number;
  readonly attributed: number;
  /** Orders that were ignored for this reason. Null: those that were not. */
  readonly reason: string | null;
}

/** The answer to a batch of shown impressions. */
export interface BatchAnswer {
  readonly generation: number;
  /** Versions of the newest publication and of the catalogue. Null from a shard, as only the coordinator knows them. */
  readonly newest: number | null;
  readonly catalogue: number | null;
  /** The sampling in force. */
  readonly sampling: Sampling;
}

/** A shard's part of the limits of its model: the used part, or the allowed one. */
export type Allowance = ModelConfig["limits"];

/** An order of a coordinator to a shard of its model. The shard does it before it answers. */
export interface Order {
  readonly generation: number;
  readonly config: ModelConfig;
  /** The version of the coordinator with which the configuration came. */
  readonly configuredAt: number;
  /** The log of the model holds impressions shown at this time or later. */
  readonly horizon: number;
  readonly homes: number;
  /** The catalogue's version, and the catalogue itself unless the shard has confirmed that version. */
  readonly catalogue: { readonly version: number; readonly actions: readonly Action[] | null };
  readonly allowance: Allowance;
  /** Rollbacks and takeovers of all shards so far. */
  readonly term: number;
  /** The version to which the newest rollback takes this shard back. Null: the shard takes over the model that it has learnt again. */
  readonly back: number | null;
  /** A running relearning of all shards. */
  readonly relearning: { readonly config: ModelConfig; readonly startedAt: number } | null;
  /** When the last one began, and the version of the coordinator at which it took over. Null if none did. */
  readonly relearnt: { readonly startedAt: number; readonly at: number } | null;
  /** Version of the sums that the coordinator has; -1 for none. */
  readonly held: number;
  /** Whether the shard keeps a snapshot of these sums for a rollback. */
  readonly keep: boolean;
}

/** The answer to an order. */
export interface Sums {
  /** The last row that the sums include. */
  readonly seq: number;
  /** One snapshot of the SDK per policy. Null if the coordinator has them, or if this version of the worker does not read them. */
  readonly parts: readonly Uint8Array<ArrayBufferLike>[] | null;
  readonly used: Allowance;
  /** Whether the shard has learnt its log again but for a page at most. */
  readonly caughtUp: boolean;
}

/** A join key of an impression, for the home of that key. */
export interface Note {
  readonly seq: number;
  readonly key: string;
  readonly impression: string;
  /** Null if the impression was erased. */
  readonly action: string | null;
}

/** Editions newer than those that an isolate holds, as bytes. */
export interface News {
  readonly publication: Uint8Array<ArrayBuffer> | null;
  /** A `CatalogueRecord`. */
  readonly catalogue: Uint8Array<ArrayBuffer> | null;
  /** The newest catalogue, whether it is among them or not. */
  readonly newest: { readonly generation: number; readonly catalogue: number };
}

/** How impressions are registered. */
export interface Registering {
  readonly byPage?: boolean;
  /** Name of the page's address in this minute. */
  readonly asker?: string;
  /** Only checks whether they would be taken. */
  readonly checkOnly?: boolean;
}

/** An impression decided elsewhere. */
export interface DecidedElsewhere {
  /** UUIDv7 of the time it was shown. */
  readonly id: string;
  /** Idempotency name of the registration. */
  readonly name: string | null;
  /** Without features, the action is looked up in the catalogue. */
  readonly action: Action;
  readonly context?: Features;
  /** The feature vector itself, from a log. */
  readonly features?: readonly number[];
  readonly probability?: number;
  /** Its place in the list, 0 for the first. */
  readonly place?: number;
  readonly keys: RequestKeys;
  /** The shard that its token states. Absent without a token. */
  readonly shard?: number;
  /** Set if a page gave the id of an impression that the worker decided. */
  readonly taken?: true;
  /** Why it is not learnt. Absent if it is. */
  readonly unlearnt?: Unlearnt;
}

export interface Registered extends Omit<Impression, "model"> {
  readonly status: "registered" | "duplicate" | LeftOut["status"];
}

export interface Ingested {
  readonly status: IngestedStatus;
  readonly detail?: string;
  /** Set if the event or its impression was erased. */
  readonly erased?: true;
}

/** The report of a page on impressions of one learner. */
export interface PageReport {
  /** UUIDs of deferred impressions that were shown. */
  readonly seen: readonly string[];
  readonly reached: readonly ConversionEvent[];
  /** Impressions that a crawler reported as seen. They stay as they were. */
  readonly crawled?: number;
  /** Name of the page's address in this minute. */
  readonly asker?: string;
}

/** What became of an impression that was shown. `accepted`: its registration will activate it. `duplicate`: it counts already. */
export type Activation = "activated" | "accepted" | "duplicate";

/** Results in the order of the report. */
export interface PageResults {
  /** Null if the impression is unknown. */
  readonly seen: readonly (Activation | null)[];
  readonly reached: readonly Ingested[];
}

/** An impression of a past log. */
export interface PastImpression extends DecidedElsewhere {
  readonly type: "impression";
  readonly arm: Assignment;
  readonly state: ImpressionState;
  readonly byPage: boolean;
  readonly sampling: number;
}

/** A conversion of a past log, with its status there. */
export interface PastConversion {
  readonly type: "conversion";
  readonly event: ConversionEvent & Partial<ByKey>;
  readonly status: ConversionStatus;
}

/** The configuration under which an exported log was made. */
export interface PastModel extends Pick<HeadLine, "config"> {
  readonly type: "model";
}

/** A line of a past log with its number, from 1. */
export type PastLine = (PastModel | PastImpression | PastConversion) & { readonly line: number };

/** A file of the archive. */
export type ArchivedFile = NonNullable<HeadLine["archive"]>[number];

/** Rows of a shard's log: those after a row, up to another. */
export interface LogSpan {
  readonly after: number;
  readonly upTo: number;
}

/** A shard's part of the head of an exported log. */
export interface LogPart {
  /** Number of its rows. */
  readonly lines: number;
  /** The log holds impressions of the shard shown at this time or later. */
  readonly horizon: number;
  readonly archive: readonly ArchivedFile[];
}

/** The beginning of an export. */
export interface LogStart {
  readonly head: LogHead;
  /** The rows of each shard, by its number. */
  readonly spans: readonly LogSpan[];
  /** The first page of shard 0. */
  readonly rows: readonly LogRow[];
}

/** The first line of an exported log. */
export type LogHead = Omit<HeadLine, "type" | "format" | "receipt">;

export type Explanation = Omit<Answers.Explanation, "impressionId">;

export type Examination = Omit<ExaminationBody, "model">;

/** Impressions whose window has closed. */
export interface ClosedCount {
  readonly impressions: number;
  readonly converted: number;
}

/** The evidence for an action in a context so far. */
export interface ActionEvidence {
  readonly id: string;
  /** Null for a policy without a posterior. */
  readonly belief: Answers.Belief | null;
  /** The evidence of a recommender that waits until windows close. */
  readonly closed: ClosedCount;
}
