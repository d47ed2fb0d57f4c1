import { Catalogue, changedBy } from "../../worker/domain/catalogue.ts";
import { type Decided, decideAs } from "../../worker/domain/decision.ts";
import { NO_KEYS } from "../../worker/domain/join-key.ts";
import { featurizer, type ModelConfig, startModel } from "../../worker/domain/model.ts";
import { type Policies, restorePolicies } from "../../worker/domain/policies.ts";
import { refusal } from "../../worker/domain/refusal.ts";
import { counting } from "../../worker/domain/reward.ts";
import type { Served } from "../../worker/domain/served.ts";
import { shownAtOf } from "../../worker/domain/uuid.ts";
import {
  type ConversionLine,
  type EventLine,
  type HeadLine,
  type ImpressionLine,
  LogMismatch,
  type MarkLine,
  nameOf,
} from "./event-log.ts";
import { Ledger } from "./ledger.ts";
import type { Needs } from "./needs.ts";

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

/** Replays a log with the worker's own code: decides and learns again, and throws where the log differs. */
export class Replay {
  readonly tally: Tally = { decisions: 0, elsewhere: 0, before: 0, conversions: 0, digests: 0 };
  readonly #needs: Needs;
  readonly #ledger = new Ledger();
  /** Snapshots of versions that later events need. */
  readonly #kept = new Map<number, Omit<State, "policies"> & { readonly parts: readonly Uint8Array[] }>();
  /** States restored from these snapshots. */
  readonly #restored = new Map<number, State>();
  /** Catalogues that decisions of other versions need. */
  readonly #catalogues = new Map<number, Catalogue>();
  readonly #due: number[];
  #state?: State;
  #seq = 0;
  #last?: { readonly of: string; readonly decided: Decided };

  constructor(needs: Needs) {
    this.#needs = needs;
    this.#due = Array.from(needs.versions.keys()).sort((a, b) => a - b);
  }

  /** Replays one event. @throws {LogMismatch} naming the event and the difference. */
  async take(line: EventLine): Promise<void> {
    if (line.seq <= this.#seq) throw new LogMismatch(`${nameOf(line)}: expected a number above ${this.#seq}`);
    this.#keep(line.seq);
    try {
      await this.#take(line);
    } catch (error) {
      throw new LogMismatch(`${nameOf(line)}: ${(error as Error).message}`);
    }
    this.#seq = line.seq;
  }

  async #take(line: EventLine): Promise<void> {
    const { relearnt } = this.#needs;
    if (relearnt && line.seq < relearnt.at) return this.#learnAgain(line, relearnt.config);
    if (line.type === "erased") throw new LogMismatch("was erased: neither this event nor later ones can be verified");
    if (line.type === "mark") return this.#mark(line);
    const { config, policies } = this.#known();
    if (line.type === "conversion") {
      this.tally.conversions++;
      return this.#ledger.convert(policies, line, this.#counted(line), config);
    }
    await this.#checkImpression(line);
    this.#ledger.show(policies, line);
  }

  /** Learns an event from before the model learnt its log again, as it counts in the end. */
  async #learnAgain(line: EventLine, config: ModelConfig): Promise<void> {
    this.#state ??= { config, featurize: featurizer(config), policies: await startModel(config), catalogue: new Catalogue([]) };
    const { policies, catalogue } = this.#state;
    if (line.type === "mark" && line.mark === "actions") {
      this.#state = { ...this.#state, catalogue: new Catalogue(changedBy(catalogue.actions, line.content), line.seq) };
    } else if ((line.archivedAt ?? Number.POSITIVE_INFINITY) < (this.#needs.relearnt?.at ?? 0)) {
      // The model had forgotten the row before it learnt its log again.
      if (line.type === "impression") this.tally.before++;
    } else if (line.type === "impression") {
      this.#ledger.show(policies, line);
      this.tally.before++;
    } else if (line.type === "conversion" && this.#ledger.knows(line) && refusal(line, config) === undefined) {
      this.tally.conversions++;
      this.#ledger.convert(policies, line, counting([line]).length > 0, config);
    }
  }

  /** Whether the conversion counted on arrival. Conversions that a later rollback reverted did. */
  #counted({ seq, status, archivedAt }: ConversionLine & EventLine): boolean {
    return status === "applied" || status === "conflict" || (status === "void" && this.#undone(seq, archivedAt));
  }

  /** Whether a rollback has undone an event. A row of the archive does not show rollbacks after its version. */
  #undone(seq: number, archivedAt = Number.POSITIVE_INFINITY): boolean {
    return this.#needs.rollbacks.some(({ to, at }) => to < seq && seq < at && at <= archivedAt);
  }

  /** Checks the outcomes of impressions shown before a time, and drops them, because no later event changes them. */
  settle(before: number): void {
    this.#ledger.settle(before);
  }

  async #mark(line: MarkLine): Promise<void> {
    if (line.mark === "configuration") {
      const config = line.content;
      const { policies = await startModel(config), catalogue = new Catalogue([]) } = this.#state ?? {};
      this.#state = { config, featurize: featurizer(config), policies, catalogue };
      return;
    }
    const state = this.#known();
    if (line.mark === "relearnt") {
      this.#state = { ...state, config: line.content.config, featurize: featurizer(line.content.config) };
      this.#snapshot(line.content.digest, state.policies);
    } else if (line.mark === "actions") {
      const catalogue = new Catalogue(changedBy(state.catalogue.actions, line.content), line.seq);
      this.#state = { ...state, catalogue };
      if (this.#needs.catalogues.has(line.seq)) this.#catalogues.set(line.seq, catalogue);
    } else if (line.mark === "snapshot") this.#snapshot(line.content.digest, state.policies);
    else if (line.mark === "rollback") await this.#rollBack(line.content.to, state);
    else if (line.mark !== "erasure") throw new LogMismatch(`mark: expected a known kind, got ${(line as MarkLine).mark}`);
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

  async #rollBack(to: number, state: State): Promise<void> {
    const kept = this.#kept.get(to);
    if (!kept) throw new LogMismatch(`expected a rollback to an earlier version, got ${to}, which never existed`);
    this.#state = { ...state, policies: await restorePolicies(kept.parts) };
    this.#ledger.rollBack(to, state.config);
  }

  /** Snapshots the state if a later event needs a version before the next event. Drops snapshots that are no longer needed. */
  #keep(next: number): void {
    for (; this.#due.length > 0 && this.#due[0] < next; this.#due.shift()) {
      if (!this.#state) continue;
      const { policies, ...rest } = this.#state;
      this.#kept.set(this.#due[0], { ...rest, parts: policies.map((recommender) => recommender.snapshot()) });
    }
    for (const version of this.#kept.keys()) {
      if ((this.#needs.versions.get(version) as number) >= next) continue;
      this.#kept.delete(version);
      this.#restored.delete(version);
    }
    for (const version of this.#catalogues.keys()) {
      if ((this.#needs.catalogues.get(version) as number) < next) this.#catalogues.delete(version);
    }
  }

  async #checkImpression(line: ImpressionLine & EventLine): Promise<void> {
    const { id, decision, round, seq, state, shownAt, archivedAt } = line;
    if (shownAtOf(id) !== shownAt) throw new LogMismatch(`shownAt: expected ${shownAtOf(id)} by its id, got ${shownAt}`);
    const expectedState = this.#undone(seq, archivedAt) ? "void" : "live";
    if (round !== null && state !== expectedState) throw new LogMismatch(`state: expected ${expectedState}, got ${state}`);
    if (line.version < (this.#needs.relearnt?.at ?? 0)) {
      this.tally.before++;
      return;
    }
    if (decision === null || isElsewhere(decision)) {
      this.tally.elsewhere++;
      return;
    }
    const expected = (await this.#decidedAgain(line)).rows[decision.place];
    const again = { ...expected, features: Array.from(expected?.features ?? []) };
    for (const name of ["arm", "action", "version", "context", "features"] as const) differ(name, line[name], again[name]);
    const fields = new Set([...Object.keys(decision), ...Object.keys(again.decision ?? {})]) as Set<keyof typeof decision>;
    for (const name of fields) differ(`decision.${name}`, decision[name], again.decision?.[name]);
    this.tally.decisions++;
  }

  async #decidedAgain({ id, decision, version, context, seq }: ImpressionLine): Promise<Decided> {
    const { first = id, place = 0, asked = {} } = decision ?? {};
    const of = JSON.stringify([first, version, context, asked, decision?.catalogue]);
    if (this.#last?.of === of && this.#last.decided.rows.length > place) return this.#last.decided;
    const state = version >= this.#seq && version < seq ? this.#known() : await this.#stateAt(version);
    const catalogue = this.#catalogueOf(decision?.catalogue) ?? state.catalogue;
    const request = { context: context ?? undefined, exclude: [], limit: place + 1, ...asked };
    const decided = decideAs((count) => Array.from({ length: count }, () => first), { ...state, catalogue, version }, request, NO_KEYS);
    this.#last = { of, decided };
    return decided;
  }

  #catalogueOf(version: number | undefined): Catalogue | undefined {
    if (version === undefined) return undefined;
    const catalogue = this.#catalogues.get(version);
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

  #known(): State {
    if (!this.#state) throw new LogMismatch("expected a configuration first: the log lacks its beginning");
    return this.#state;
  }

  /** Compares the final state with the log's head, and each impression's outcome with its line. Called after the last event. */
  finish({ digest, config, modelVersion }: HeadLine): void {
    if (modelVersion < this.#seq) throw new LogMismatch(`the head: modelVersion: expected at least ${this.#seq}, got ${modelVersion}`);
    this.#ledger.checkOutcomes();
    const state = this.#known();
    try {
      differ("config", config, state.config);
      if (digest !== null) this.#checkDigest(digest, state.policies);
    } catch (error) {
      throw new LogMismatch(`the head: ${(error as Error).message}`);
    }
  }
}

/** Whether the impression was registered. A registered impression has no numbers except a probability and a place below the first. */
function isElsewhere({ candidates, score, mean, width, probability, place }: NonNullable<ImpressionLine["decision"]>): boolean {
  return candidates === null && (probability !== undefined || place > 0) && score === 0 && mean === 0 && width === 0;
}

function differ(name: string, logged: unknown, own: unknown): void {
  const [got, expected] = [JSON.stringify(logged), JSON.stringify(own)];
  if (got !== expected) throw new LogMismatch(`${name}: expected ${short(expected)}, got ${short(got)}`);
}

const short = (json: string | undefined): string => (json === undefined ? "absent" : json.length > 120 ? `${json.slice(0, 120)}…` : json);
