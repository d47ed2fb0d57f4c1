// Learns the log again under another configuration, in small steps beside the old model, which serves meanwhile.

import type { Featurizer } from "afterclick/research";
import { Catalogue, type CatalogueChange, changedBy } from "../../domain/catalogue/catalogue.ts";
import { Fold } from "../../domain/conversion/fold.ts";
import { refusal } from "../../domain/conversion/refusal.ts";
import { counting } from "../../domain/conversion/reward.ts";
import { shownAtOf } from "../../domain/ids/uuid.ts";
import type { BlockRow } from "../../domain/impression/block.ts";
import { appendedOf, type StoredImpression } from "../../domain/impression/impression.ts";
import type { LogRow } from "../../domain/log/log-row.ts";
import { withVocabulary } from "../../domain/model/encoding.ts";
import { windowOf } from "../../domain/model/goals.ts";
import { inform } from "../../domain/model/inform.ts";
import { acceptable, featurizer, isEncodable, type ModelConfig, renewed, startModel, withLearnt } from "../../domain/model/model.ts";
import { type Policies, partsOf, readablePolicies } from "../../domain/model/policies.ts";
import { differences } from "../../domain/model/reconfiguration.ts";
import type { Relearning as Progress } from "../../protocol/model-answer.ts";
import type { LearnerStore } from "../store/learner-store.ts";
import type { Begun } from "../store/relearning-store.ts";
import { appendTo, tryObserve } from "./learning.ts";
import { changeWindows } from "./window-change.ts";

/** After so many rows of the log the policies are saved. After an interruption at most as many are learnt again. */
export const SAVING = { rows: 20_000 };

/** Rows that are learnt before other calls have their turn. */
const STEP_ROWS = 256;
/** A relearning that is behind by fewer rows takes over in one transaction. */
const CAUGHT_UP_ROWS = 1000;

/** A conversion that the policies did not take. */
class Refused extends Error {
  readonly seq: number;

  constructor(seq: number) {
    super();
    this.seq = seq;
  }
}

/** The state in memory while the log is learnt. */
interface Learning {
  /** `RelearningStore.times` when it began. */
  readonly times: number;
  readonly config: ModelConfig;
  readonly policies: Policies;
  readonly featurize: Featurizer | null;
  /** The catalogue at the row that comes next. */
  catalogue: Catalogue;
  seq: number;
  saved: number;
}

/** A coordinator's order to take over: the model that its shards have learnt again. */
export interface Takeover {
  /** By default the configuration under which the log was learnt. */
  readonly config?: ModelConfig;
  /** The coordinator's version of the takeover. */
  readonly at?: number;
}

/**
 * Learns the log of a model again under another configuration, while the old one serves. Features are made anew from contexts and from the
 * catalogue of their time if the encoder is another one. At the end the new model takes over in one transaction.
 */
export class Relearning {
  readonly #store: LearnerStore;
  readonly #graceMs: number;
  #learning?: Learning;
  /** Row and time at which this object went on, for the estimate of the end. */
  #since?: { readonly seq: number; readonly at: number };

  /** @param graceMs time after a window in which a conversion may still be delivered. */
  constructor(store: LearnerStore, graceMs: number) {
    this.#store = store;
    this.#graceMs = graceMs;
  }

  /** Whether a relearning has begun and has not taken over. */
  get isRunning(): boolean {
    return this.#store.exists && this.#store.relearning.begun !== undefined;
  }

  /** Whether the log is learnt but for a page at most. */
  get isCaughtUp(): boolean {
    const learning = this.#learning;
    return this.isRunning && learning?.times === this.#store.relearning.times && this.#store.seq - learning.seq < CAUGHT_UP_ROWS;
  }

  /** @throws {Problem} 422 naming a feature of the catalogue, or of the first impressions of the log, that does not fit a configuration. */
  async check(config: ModelConfig): Promise<void> {
    const policies = await startModel(config);
    const featurize = this.#featurizerOf(config);
    const actions = policies[0].policy.hasDomain ? [] : this.#store.catalogue.actions;
    for (const action of actions) featurize?.vector(undefined, action);
    let catalogue = new Catalogue(this.#store.catalogues.actionsAt(0));
    for (const line of this.#store.log.page(0, undefined, { copied: true })) {
      catalogue = catalogueAfter(catalogue, line);
      if (line.type !== "impression" || line.state !== "live") continue;
      const { features } = rowOf(line, { featurize, catalogue });
      acceptable(() => policies.forEach(({ policy }) => void (policy.dimension > 0 && policy.features(features))));
    }
  }

  /** Makes features anew. Null if the stored ones stay. */
  #featurizerOf(config: ModelConfig): Featurizer | null {
    return differences(this.#store.model.config.encoder, config.encoder).length === 0 ? null : featurizer(config);
  }

  /** @param startedAt also tells it from another one. */
  begin(config: ModelConfig, startedAt: number): void {
    this.#learning = undefined;
    this.#since = undefined;
    this.#store.transact(() => this.#store.relearning.begin(config, startedAt));
  }

  /** Null if none runs. */
  progress(now: number): Progress | null {
    const begun = this.#store.relearning.begun;
    if (!begun) return null;
    const [seq, rows] = [this.#learning?.seq ?? begun.seq, this.#store.seq];
    const speed = this.#since && seq > this.#since.seq ? (seq - this.#since.seq) / Math.max(1, now - this.#since.at) : null;
    const left = seq === rows ? 0 : speed && (rows - seq) / speed;
    return { startedAt: begun.startedAt, done: seq, rows, endsAt: left === null ? null : Math.ceil(now + left) };
  }

  /** Learns the next page of the log. Returns whether all of it is learnt. */
  async step(): Promise<boolean> {
    return (await this.#change((learning) => this.#learnPage(learning))) ?? false;
  }

  /**
   * Learns the rest of the log and gives the model to what was learnt, in one transaction.
   * @param also becomes part of the transaction. @returns whether the model has been given: false if it was begun anew meanwhile.
   */
  async takeOver({ config, at }: Takeover = {}, also: () => void = () => {}): Promise<boolean> {
    const taken = await this.#change((learning) => {
      while (!this.#learnPage(learning));
      this.#takeOver(learning, config, at);
      also();
      return true;
    });
    if (taken) this.#learning = undefined;
    return taken ?? false;
  }

  /**
   * Changes what is learnt, in one transaction. Undefined if a rollback or another relearning has begun it anew meanwhile, or if it goes
   * back because the policies did not take a conversion, which is skipped from now on.
   */
  async #change<T>(change: (learning: Learning) => T): Promise<T | undefined> {
    if (!this.isRunning) return undefined;
    const learning = await this.#started();
    const { relearning } = this.#store;
    if (!relearning.begun || learning.times !== relearning.times) {
      this.#learning = undefined;
      return undefined;
    }
    try {
      return this.#store.transact(() => change(learning));
    } catch (error) {
      // The policies may be ahead of what is stored.
      this.#learning = undefined;
      if (!(error instanceof Refused)) throw error;
      this.#store.transact(() => this.#store.skip(error.seq));
      return undefined;
    }
  }

  #learnPage(learning: Learning): boolean {
    const page = this.#store.log.page(learning.seq, undefined, { copied: true, most: STEP_ROWS });
    if (page.length === 0) return true;
    this.#learn(learning, page);
    return false;
  }

  async #started(): Promise<Learning> {
    if (this.#learning) return this.#learning;
    const { relearning } = this.#store;
    const { times } = relearning;
    const { config, seq, startedAt } = relearning.begun as Begun;
    const parts = relearning.snapshots.newest()?.parts;
    const policies = await (parts ? readablePolicies(parts) : startModel(config));
    if (!policies || !isEncodable(config)) {
      // Another version of this worker had begun it.
      this.begin(withVocabulary(renewed(config), this.#store.catalogue.actions), startedAt);
      return this.#started();
    }
    if (times === relearning.times) this.#store.transact(() => relearning.rewind());
    const featurize = this.#featurizerOf(config);
    const catalogue = new Catalogue(this.#store.catalogues.actionsAt(seq));
    this.#since = { seq, at: Date.now() };
    this.#learning = { times, config, policies, featurize, catalogue, seq, saved: seq };
    return this.#learning;
  }

  #learn(learning: Learning, page: readonly LogRow[]): void {
    let batch: Extract<LogRow, { readonly type: "impression" }>[] = [];
    const flush = () => {
      this.#show(learning, batch);
      batch = [];
    };
    for (const line of page) {
      if (line.type === "impression") {
        const last = batch.at(-1);
        if (last && (line.seq !== last.seq + 1 || line.state !== last.state)) flush();
        batch.push(line);
      } else {
        flush();
        if (line.type === "conversion") this.#convert(learning, line);
        else learning.catalogue = catalogueAfter(learning.catalogue, line);
      }
    }
    flush();
    learning.seq = page[page.length - 1].seq;
    if (learning.seq - learning.saved >= SAVING.rows) {
      this.#store.relearning.save(learning.seq, partsOf(learning.policies));
      learning.saved = learning.seq;
    }
  }

  /** Learns impressions of one state with consecutive numbers, and puts them into blocks. */
  #show(learning: Learning, batch: readonly StoredImpression[]): void {
    if (batch.length === 0 || batch[0].state === "deferred") return;
    const { policies, config } = learning;
    const rows = batch.map((impression) => rowOf(impression, learning));
    const isLive = batch[0].state === "live";
    const marks = isLive ? rows.map((row) => appendTo(policies, row)) : [];
    this.#store.relearning.blocks.insert(rows, marks, config.window.ms, batch[0].seq);
  }

  #convert({ policies, config }: Learning, line: Extract<LogRow, { readonly type: "conversion" }>): void {
    const { relearning, conversions } = this.#store;
    const shownAt = shownAtOf(line.impression);
    const counts = (each: typeof line) => refusal(each, config) === undefined && each.at - shownAt <= windowOf(config, each.goal);
    if (counting([line]).length === 0 || !counts(line)) return;
    const found = relearning.blocks.find(line.impression);
    if (!found?.marks) return;
    const earlier = counting(conversions.of(line.impression)).filter((each) => each.seq < line.seq && counts({ ...each, type: line.type }));
    const change = new Fold(shownAt, config, earlier).apply(line);
    if (!change) return;
    if (!tryObserve(policies, { impression: appendedOf({ ...found.row, ...found.marks }), ...change })) throw new Refused(line.seq);
    relearning.note(line, change.after);
  }

  #takeOver({ config: learnt, policies, catalogue, ...learning }: Learning, given?: ModelConfig, at?: number): void {
    const store = this.#store;
    const config = given ?? withVocabulary(withLearnt(store.model.config, learnt), catalogue.actions);
    const { relearning, impressions } = store;
    const { config: before } = store.model;
    const { startedAt } = relearning.begun as Begun;
    const differing = relearning.differing();
    relearning.takeOver();
    for (const { id, outcome } of differing) {
      const impression = impressions.find(id);
      if (impression?.state === "live") impressions.change(impression, outcome, before);
    }
    impressions.replaceDeferred((impression) => rowOf(impression, { ...learning, catalogue }));
    inform(policies, config, catalogue.actions);
    for (const { policy } of policies) policy.refactor();
    store.takeOver({ config, startedAt, digest: policies[0].policy.digest(), ...(at !== undefined && { at }) }, partsOf(policies));
    changeWindows(store, before, this.#graceMs);
  }
}

/** The catalogue after a row of the log. */
function catalogueAfter(before: Catalogue, line: LogRow): Catalogue {
  if (line.type !== "mark" || line.mark !== "actions") return before;
  return new Catalogue(changedBy(before.actions, JSON.parse(line.content) as CatalogueChange), line.seq);
}

/** An impression with the features that it has under the new encoder. */
function rowOf(impression: StoredImpression, { featurize, catalogue }: Pick<Learning, "featurize" | "catalogue">): BlockRow {
  const { id, name, action, features, context, arm, version, decision, byPage, sampling, erased } = impression;
  const row = { id, name, action, features, context, arm, version, decision, byPage, sampling };
  return featurize && !erased ? { ...row, features: remade(row, featurize, catalogue) } : row;
}

/** The features of an impression under another encoder. An action that is in no catalogue has those of its id alone. */
export function remade(
  { action: id, context, decision }: Pick<BlockRow, "action" | "context" | "decision">,
  featurize: Featurizer,
  catalogue: Catalogue,
) {
  const asked = decision?.asked?.actions?.find((each) => each.id === id && each.features !== undefined);
  return featurize.vector(context ?? undefined, asked ?? catalogue.named(id));
}
