// Decides and learns a log again with the worker's own code, and stops at the first difference.

import { Catalogue, changedBy } from "../../worker/domain/catalogue/catalogue.ts";
import { refusal } from "../../worker/domain/conversion/refusal.ts";
import { counting } from "../../worker/domain/conversion/reward.ts";
import { type Decided, decideAs } from "../../worker/domain/decision/decision.ts";
import type { Served } from "../../worker/domain/decision/served.ts";
import { unlearnt } from "../../worker/domain/decision/unlearnt-model.ts";
import { NO_KEYS } from "../../worker/domain/ids/join-key.ts";
import { shownAtOf } from "../../worker/domain/ids/uuid.ts";
import { isElsewhere } from "../../worker/domain/impression/impression.ts";
import type { ImpressionLine, MarkContent, MarkLine } from "../../worker/domain/log/log-line.ts";
import { inform } from "../../worker/domain/model/inform.ts";
import { featurizer, startModel } from "../../worker/domain/model/model.ts";
import { mergedPolicies, type Policies, partsOf, restorePolicies } from "../../worker/domain/model/policies.ts";
import { differences, differencesText } from "../../worker/domain/model/reconfiguration.ts";
import { type EventLine, type HeadLine, LogMismatch, nameOf } from "../log/event-line.ts";
import { type Needs, NO_NEEDS, questionOf } from "../log/needs.ts";
import { KeptStates } from "./kept-states.ts";
import { ReplayedShard } from "./replayed-shard.ts";

export interface Tally {
  decisions: number;
  /** Registered impressions, which were decided elsewhere. */
  elsewhere: number;
  /** Impressions decided before the model learnt its log again. Their decisions cannot be repeated. */
  before: number;
  conversions: number;
  digests: number;
}

/** The state on which decisions depend, at one version. */
type State = Omit<Served, "version">;
/** A state without its policies. */
type Setting = Omit<State, "policies">;

/**
 * Replays a log with the worker's own code: decides and learns again, and throws where the log differs. Each shard learns by itself, and
 * a mark merges their sums. The versions of shard 0 are those of the model.
 */
export class Replay {
  readonly tally: Tally = { decisions: 0, elsewhere: 0, before: 0, conversions: 0, digests: 0 };
  readonly #needs: Needs;
  readonly #shards = new Map<number, ReplayedShard>();
  /** Settings of versions by which later events were decided, with snapshots of their policies. */
  readonly #kept: KeptStates<Setting & { readonly parts: readonly Uint8Array[] }>;
  /** Catalogues that decisions of other versions need. */
  readonly #catalogues: KeptStates<Catalogue>;
  /** States that were restored for the last decisions. */
  readonly #restored = new Map<number, State>();
  #setting?: Setting;
  /** The policies with the sums of all shards. Undefined if the last event of shard 0 did not merge them. */
  #merged?: Policies;
  #place = 0;
  /** Number of the last event of shard 0. */
  #version = 0;
  #last?: { readonly question: string; readonly decided: Decided };

  constructor(needs: Needs) {
    this.#needs = needs;
    this.#kept = new KeptStates(needs.versions);
    this.#catalogues = new KeptStates(needs.catalogues);
  }

  /** Replays one event. @throws {LogMismatch} naming the event and the difference. */
  async replay(line: EventLine): Promise<void> {
    this.#place++;
    try {
      this.#begin(line);
      const shard = await this.#shard(line.shard ?? 0);
      if (line.seq <= shard.seq) throw new LogMismatch(`expected a number above ${shard.seq}`);
      shard.advance(line.seq, this.#place);
      if (!line.shard) this.#keep(line.seq);
      await this.#replay(line, shard);
      if (line.type === "conversion") shard.ledger.pass(line);
      if (line.shard) return;
      this.#version = line.seq;
      if (line.type !== "mark" || line.mark !== "merged") this.#merged = undefined;
    } catch (error) {
      throw new LogMismatch(`${nameOf(line)}: ${(error as Error).message}`);
    }
  }

  /** Starts with the first configuration, or with the one under which the model learnt its log again. */
  #begin(line: EventLine): void {
    if (this.#setting) return;
    const first = line.type === "mark" && line.mark === "configuration" ? line.content : undefined;
    const config = this.#needs.relearnt?.config ?? first;
    if (config) this.#setting = { config, featurize: featurizer(config), catalogue: new Catalogue([]) };
  }

  async #shard(number: number): Promise<ReplayedShard> {
    const known = this.#shards.get(number);
    if (known) return known;
    const { config } = this.#known();
    // A line's shard is a whole number.
    if (number >= config.shards) throw new LogMismatch(`shard: expected a number from 0 to ${config.shards - 1}, got ${number}`);
    const shard = new ReplayedShard(this.#needs.shards.get(number) ?? NO_NEEDS, await startModel(config), this.#needs.awaited);
    this.#shards.set(number, shard);
    this.#inform();
    return shard;
  }

  async #replay(line: EventLine, shard: ReplayedShard): Promise<void> {
    if (line.seq < this.#relearntAt(line.shard)) return this.#learnAgain(line, shard);
    if (line.type === "erased") throw new LogMismatch("was erased: neither this event nor later ones can be verified");
    if (line.type === "mark") return this.#mark(line, shard);
    if (line.type === "conversion") {
      this.tally.conversions++;
      return shard.convert(line, this.#known().config);
    }
    await this.#checkImpression(line);
    shard.show(line, this.#known().config);
  }

  /** Learns an event from before the model learnt its log again, as it counts in the end. */
  #learnAgain(line: EventLine, { ledger, policies }: ReplayedShard): void {
    const setting = this.#known();
    const { config, catalogue } = setting;
    if (line.type === "mark" && line.mark === "actions") {
      this.#setting = { ...setting, catalogue: new Catalogue(changedBy(catalogue.actions, line.content), line.seq) };
    } else if ((line.archivedAt ?? Number.POSITIVE_INFINITY) < this.#relearntAt(line.shard)) {
      // The model had forgotten the row before it learnt its log again.
      if (line.type === "impression") this.tally.before++;
    } else if (line.type === "impression") {
      ledger.show(policies, line, config);
      this.tally.before++;
    } else if (line.type === "conversion" && ledger.knows(line) && refusal(line, config) === undefined) {
      this.tally.conversions++;
      ledger.convert(policies, line, counting([line]).length > 0, config);
    }
  }

  /** The version at which a shard last took over what it had learnt again. That of shard 0 is the model's. */
  #relearntAt(shard = 0): number {
    return this.#needs.relearnt?.at.get(shard) ?? 0;
  }

  /** Checks the outcomes of impressions shown before a time, and drops them, because no later event changes them. */
  settle(before: number): void {
    for (const { ledger } of this.#shards.values()) ledger.settle(before);
  }

  async #mark(line: MarkLine & EventLine, shard: ReplayedShard): Promise<void> {
    const setting = this.#known();
    if (line.mark === "snapshot") return this.#snapshot(line.content.digest, shard.policies);
    if (line.mark === "rollback") {
      await shard.rollBack(line.content.to, setting.config);
      return this.#inform();
    }
    if (line.mark === "erasure") return;
    if (line.mark === "relearnt") {
      const { config, digest } = line.content;
      if (line.shard) differ("config", config, setting.config);
      else this.#setting = { ...setting, config, featurize: featurizer(config) };
      this.#inform();
      return this.#snapshot(digest, shard.policies);
    }
    // The others are of the model, so shard 0 has them.
    if (line.shard) throw new LogMismatch(`mark: expected a known kind, got ${line.mark}`);
    if (line.mark === "configuration") this.#setting = { ...setting, config: line.content, featurize: featurizer(line.content) };
    else if (line.mark === "actions") {
      this.#setting = { ...setting, catalogue: new Catalogue(changedBy(setting.catalogue.actions, line.content), line.seq) };
    } else if (line.mark === "merged") {
      if (line.archivedAt !== undefined) throw new LogMismatch("merges several shards: their archives cannot be verified yet");
      return this.#merge(line.content);
    } else throw new LogMismatch(`mark: expected a known kind, got ${(line as MarkLine).mark}`);
    this.#inform();
  }

  /** Tells all policies what each learner does. */
  #inform(): void {
    const { config, catalogue } = this.#known();
    for (const { policies } of this.#shards.values()) inform(policies, config, catalogue.actions);
  }

  #snapshot(digest: string, policies: Policies): void {
    for (const { policy } of policies) policy.refactor();
    this.#checkDigest(digest, policies);
  }

  #checkDigest(digest: string, [{ policy }]: Policies): void {
    const own = policy.digest();
    if (own !== digest) throw new LogMismatch(`digest: expected ${own}, got ${digest}`);
    this.tally.digests++;
  }

  async #merge({ digest, shards }: MarkContent<"merged">): Promise<void> {
    const sums: (readonly Uint8Array[])[] = [];
    for (const [shard, version] of shards.entries()) sums.push(await (await this.#shard(shard)).sumsAt(version));
    this.#merged = await mergedPolicies(sums);
    const { config, catalogue } = this.#known();
    inform(this.#merged, config, catalogue.actions);
    this.#checkDigest(digest, this.#merged);
  }

  /** The policies that decide. */
  #policies(): Policies {
    return this.#merged ?? (this.#shards.get(0) as ReplayedShard).policies;
  }

  /** Comes to an event of shard 0. Keeps the state before it if a later line needs that. */
  #keep(seq: number): void {
    const setting = this.#known();
    this.#kept.keep(seq, this.#place, () => ({ ...setting, parts: partsOf(this.#policies()) }));
    this.#catalogues.keep(seq, this.#place, () => setting.catalogue);
    for (const version of this.#restored.keys()) if (!this.#kept.get(version)) this.#restored.delete(version);
  }

  async #checkImpression(line: ImpressionLine & EventLine): Promise<void> {
    const { id, decision, shownAt } = line;
    if (shownAtOf(id) !== shownAt) throw new LogMismatch(`shownAt: expected ${shownAtOf(id)} by its id, got ${shownAt}`);
    if (decision === null || isElsewhere(decision)) {
      this.tally.elsewhere++;
      return;
    }
    if (line.version < this.#relearntAt()) {
      this.tally.before++;
      return;
    }
    const expected = (await this.#decidedAgain(line)).rows[decision.place];
    const again = { ...expected, features: Array.from(expected?.features ?? []) };
    for (const name of ["arm", "action", "version", "context", "features"] as const) differ(name, line[name], again[name]);
    const fields = new Set([...Object.keys(decision), ...Object.keys(again.decision ?? {})]) as Set<keyof typeof decision>;
    for (const name of fields) differ(`decision.${name}`, decision[name], again.decision?.[name]);
    this.tally.decisions++;
  }

  async #decidedAgain(line: ImpressionLine & EventLine): Promise<Decided> {
    const { id, decision, version, context } = line;
    const { first = id, place = 0, asked = {} } = decision ?? {};
    const question = questionOf(line);
    // An item that was registered after a mark was not counted in the length of its list.
    if (this.#last?.question === question && place < this.#last.decided.rows.length) return this.#last.decided;
    const learnt = this.#isPresent(version, line) ? { ...this.#known(), policies: this.#policies() } : await this.#stateAt(version);
    const state = line.arm === "catalogue" ? { ...learnt, ...(await unlearnt(learnt.config)) } : learnt;
    const catalogue = decision?.catalogue === undefined ? state.catalogue : this.#catalogueAt(decision.catalogue, line);
    const request = { context: context ?? undefined, exclude: [], limit: this.#needs.lengths.get(this.#place) || place + 1, ...asked };
    const decided = decideAs((count) => Array.from({ length: count }, () => first), { ...state, catalogue, version }, request, NO_KEYS);
    this.#last = { question, decided };
    return decided;
  }

  /** Whether no event of shard 0 came between a version and a line. */
  #isPresent(version: number, { shard, seq }: EventLine): boolean {
    return version >= this.#version && (shard ? version === this.#version : version < seq);
  }

  #catalogueAt(version: number, line: EventLine): Catalogue {
    const catalogue = this.#isPresent(version, line) ? this.#known().catalogue : this.#catalogues.get(version);
    if (!catalogue) throw new LogMismatch(`decision.catalogue: expected an earlier version, got ${version}, which never existed`);
    return catalogue;
  }

  async #stateAt(version: number): Promise<State> {
    const restored = this.#restored.get(version);
    if (restored) return restored;
    const kept = this.#kept.get(version);
    if (!kept) throw new LogMismatch(`version: expected an earlier version, got ${version}, which never existed`);
    const { parts, ...rest } = kept;
    const state = { ...rest, policies: await restorePolicies(parts) };
    this.#restored.set(version, state);
    return state;
  }

  #known(): Setting {
    if (!this.#setting) throw new LogMismatch("expected a configuration first: the log lacks its beginning");
    return this.#setting;
  }

  /** Compares the final state with the log's head, and each impression's outcome with its line. Called after the last event. */
  finish({ digest, config, modelVersion }: HeadLine): void {
    if (modelVersion < this.#version)
      throw new LogMismatch(`the head: modelVersion: expected at least ${this.#version}, got ${modelVersion}`);
    for (const { ledger } of this.#shards.values()) ledger.checkOutcomes();
    try {
      differ("config", config, this.#known().config);
      if (digest !== null) this.#checkDigest(digest, this.#policies());
    } catch (error) {
      throw new LogMismatch(`the head: ${(error as Error).message}`);
    }
  }
}

/** @throws {LogMismatch} naming the fields in which two values differ. */
function differ(name: string, logged: unknown, own: unknown): void {
  const [first, ...others] = differences(own, logged, name);
  if (first) throw new LogMismatch(differencesText([first, ...others]));
}
