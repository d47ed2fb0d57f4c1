// The calls of a learner by audience. Isolates of two versions use them during a deployment, so they change in both directions.

import type { ConversionEvent, KeyedEvent } from "../domain/conversion/event.ts";
import type { Seen } from "../domain/decision/left-out.ts";
import type { KeyHashes, RequestKeys } from "../domain/ids/join-key.ts";
import type { HeldLine } from "../domain/log/log-line.ts";
import type { LogRow } from "../domain/log/log-row.ts";
import type { HeldEdition } from "../domain/model/publication.ts";
import type { OrderFacts } from "../domain/orders/facts.ts";
import type { OrderRecord } from "../domain/orders/order-record.ts";
import type { CatalogueVersion, Imported, Rollback } from "../protocol/answers.ts";
import type { Action, ActionsPatch, Features, ModelBody, ModelPatch } from "../protocol/schema.ts";
import type * as Message from "./message.ts";
import type { ModelCounts, Totals } from "./model-counts.ts";

type Answered<T> = Promise<Message.Answer<T>>;

/** Calls of isolates and pages: decisions, impressions and conversions. */
export interface ServingRpc {
  /** Decides, and registers each shown action as an impression. */
  recommend(request: Message.RecommendRequest): Answered<Message.Recommendation>;
  /** The impressions that a visitor has seen, if the model leaves products out. A shard asks the others that may know. */
  seen(question: Message.SeenQuestion): Answered<readonly Seen[]>;
  /**
   * Registers impressions that an isolate has shown. Known ones change nothing. Impressions that are too old, over a limit, or of
   * another generation are refused and counted.
   */
  registerShown(batch: Message.ShownBatch): Answered<Message.BatchAnswer>;
  /** Registers impressions decided elsewhere: all of them or, if one is refused, none. A page may do so only if the model is `local`. */
  register(items: readonly Message.DecidedElsewhere[], options?: Message.Registering): Answered<readonly Message.Registered[]>;
  /** Takes conversions and returns one result for each. */
  ingest(events: readonly (ConversionEvent | KeyedEvent)[]): Answered<readonly Message.Ingested[]>;
  /** Marks deferred impressions as shown, and takes public goals that a page reports. 429 if pages report too much. */
  report(report: Message.PageReport): Answered<Message.PageResults>;
  /** Marks a deferred impression as shown; null if it is unknown. */
  activate(id: string): Answered<Message.Activation | null>;
  /** The newest publication with its catalogue, for an isolate that holds nothing and finds nothing in KV. */
  publication(): Answered<Uint8Array<ArrayBuffer>>;
  /**
   * Editions newer than those that an isolate holds. Nothing long if many isolates ask at the moment, unless `always`.
   */
  newer(held: HeldEdition, always?: boolean): Answered<Message.News>;
}

/** Calls that change a model: its configuration, its catalogue and its data. */
export interface AdministrationRpc {
  /** Creates the model, or changes the part of its configuration that learnt state does not depend on. Else 409. */
  configure(name: string, body: ModelBody): Answered<{ readonly created: boolean }>;
  /** Changes the part of the configuration of an existing model that the body names. Else 404 or 409. */
  reconfigure(body: ModelPatch): Answered<null>;
  /** Starts a new generation without learnt state. Without a body the configuration stays. */
  reset(body: ModelBody | null): Answered<null>;
  /**
   * Begins to learn the log again under what the body changes. The old model serves until the new one takes over. Null: the state of a
   * shard cannot be read, so its log is learnt again unless that has begun.
   */
  relearn(body: ModelPatch | null): Answered<null>;
  /** Restores a kept snapshot. Without a version it refuses, and names those that are kept. */
  rollBack(version?: number): Answered<Rollback>;
  /** Deletes the model and its stored data. Its events in KV expire, and its archive stays. */
  remove(): Answered<null>;
  /** Deletes the archived files of all generations of a model, which may be deleted already. */
  removeArchive(name: string): Answered<null>;
  /** Replaces the catalogue. */
  setActions(actions: readonly Action[]): Answered<CatalogueVersion>;
  /** Adds, changes and removes actions of the catalogue. */
  changeActions(patch: ActionsPatch): Answered<CatalogueVersion>;
  /** Takes lines of a past log: impressions in order of time, each before its conversions. All lines or none. */
  importLog(lines: readonly Message.PastLine[]): Answered<Imported>;
  /**
   * Erases the data of an impression of a generation, and its conversions, registered or not. Learnt sums keep its contribution. False
   * if the log does not reach back to it.
   */
  erase(id: string, generation: number): Answered<boolean>;
  /** Makes some join keys those of one visitor, for the impressions so far. Returns the number of impressions that got another key. */
  joinKeys(keys: RequestKeys): Answered<number>;
  /** Erases all impressions of a join key, given by its hashes. Returns their number. */
  eraseKey(hashes: KeyHashes): Answered<number>;
  /** Sets a lost alarm again, and closes buckets that only KV knows of. */
  heal(): Answered<null>;
}

/** Calls that change nothing that a model has learnt: figures, explanations and the event log. */
export interface ReadingRpc {
  /** Configuration, counts and digest. */
  describe(): Answered<Message.Description>;
  /** Data of the dashboard. */
  metrics(): Answered<Message.Measurement>;
  /** How probably visitors examine each place of a list, by the random lists of the log. */
  examination(): Answered<Message.Examination>;
  /** The catalogue. */
  actions(): Answered<{ readonly actions: readonly Action[]; readonly version: number }>;
  /** Current estimates of all catalogue actions in a context. */
  estimates(context?: Features): Answered<readonly Message.ActionEvidence[]>;
  /** An impression, its decision, and the model's current estimates; null if it is unknown. */
  impression(id: string): Answered<Message.Explanation | null>;
  /** The lines of the log about a join key, given by its hashes, archived ones too. */
  keyLines(hashes: KeyHashes): Answered<readonly HeldLine[]>;
  /**
   * The beginning of an export of all rows after a row. A model of several shards collects their sums first, so that the log ends with
   * them. Its exports begin with 0 or after merged sums, else 422.
   */
  startLog(after: number): Answered<Message.LogStart>;
  /** This shard's part of the head of an export. */
  logPart(span: Message.LogSpan): Answered<Message.LogPart>;
  /** A page of this shard's rows; empty at the end. */
  log(span: Message.LogSpan): Answered<readonly LogRow[]>;
  /** The counts of this learner for a description. The counts of all learners of a model add up. */
  totals(): Answered<Totals>;
  /** The counts of this learner for the dashboard. */
  counts(): Answered<ModelCounts>;
  /** Impressions with a closed window in a context, by the ids of their actions. */
  closedCounts(context: Features | undefined, actions: readonly string[]): Answered<readonly Message.ClosedCount[]>;
}

/** Calls between the shards of a model. */
export interface ShardRpc {
  /** State of the served policy. It takes no place among the kept snapshots. */
  snapshot(): Answered<{ readonly version: number; readonly bytes: Uint8Array }>;
  /** Makes a shard do what its coordinator says, and returns its sums. Else 409 if the shard is of a later generation. */
  follow(name: string, order: Message.Order): Answered<Message.Sums>;
  /** Whether a shard keeps a snapshot for a rollback. */
  keeps(version: number): Answered<boolean>;
  /** Makes the coordinator collect the sums of all shards and publish them. Answers whether the shard that asks is one of them. */
  gather(shard: number): Answered<boolean>;
  /** Takes notes of another shard on keys whose home is here. A repetition changes nothing. */
  link(notes: readonly Message.Note[], shard: number): Answered<null>;
  /** Whether an impression of any shard has a key whose home is here. */
  knows(key: string): Answered<boolean>;
}

/** Calls about the orders of senders. They concern no model, so one object that has none answers them. */
export interface OrdersRpc {
  /** Adds what a message tells to its order, and returns the order. A repetition changes nothing. */
  takeOrder(sender: string, facts: OrderFacts, keptUntil: number): Answered<OrderRecord>;
  /** Counts an order once, on the day of its first message. It is attributed if one of its messages is. */
  countOrder(sender: string, id: string, order: Message.CountedOrder): Answered<null>;
  /** Erases orders of a sender: some by their ids, or all. Returns their number. */
  eraseOrders(sender: string, ids: readonly string[] | null): Answered<number>;
  /** Numbers of orders by sender and day, the newest day first. */
  orders(): Answered<readonly Message.OrderDay[]>;
}

/** The calls that a learner answers. Every refusal comes as a value of `Answer`. */
export interface LearnerRpc extends Rpc.DurableObjectBranded, ServingRpc, AdministrationRpc, ReadingRpc, ShardRpc, OrdersRpc {}

/** The calls of an audience as an object of the learner implements them: a refusal is an exception. */
export type Implemented<Calls> = {
  [Name in keyof Calls]: Calls[Name] extends (...args: infer Args) => Answered<infer T> ? (...args: Args) => Promise<T> : never;
};
