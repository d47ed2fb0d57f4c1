import { Catalogue, changedBy } from "../../worker/domain/catalogue.ts";
import { type Decided, decideAs, type Served } from "../../worker/domain/decision.ts";
import { featurizer, startModel } from "../../worker/domain/model.ts";
import { type Policies, restorePolicies } from "../../worker/domain/policies.ts";
import { shownAtOf } from "../../worker/domain/token.ts";
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
  /** Registered: nothing was decided here. */
  elsewhere: number;
  conversions: number;
  digests: number;
}

/** All that decisions depend on, at one version. */
type State = Omit<Served, "version">;

/** Goes through a log with the worker's own code, decides and learns again, and throws where the log says something else. */
export class Replay {
  readonly tally: Tally = { decisions: 0, elsewhere: 0, conversions: 0, digests: 0 };
  readonly #needs: Needs;
  readonly #ledger = new Ledger();
  /** Kept for later, as bytes, and those that were restored. */
  readonly #kept = new Map<number, Omit<State, "policies"> & { readonly parts: readonly Uint8Array[] }>();
  readonly #restored = new Map<number, State>();
  readonly #due: number[];
  #state?: State;
  #seq = 0;
  #last?: { readonly of: string; readonly decided: Decided };

  constructor(needs: Needs) {
    this.#needs = needs;
    this.#due = Array.from(needs.versions.keys()).sort((a, b) => a - b);
  }

  /** @throws {LogMismatch} naming the event and what of it is not as it comes out. */
  async take(line: EventLine): Promise<void> {
    if (line.seq <= this.#seq) throw new LogMismatch(`${nameOf(line)}: comes after event ${this.#seq}`);
    this.#keep(line.seq);
    try {
      await this.#take(line);
    } catch (error) {
      throw new LogMismatch(`${nameOf(line)}: ${(error as Error).message}`);
    }
    this.#seq = line.seq;
  }

  async #take(line: EventLine): Promise<void> {
    if (line.type === "erased") throw new LogMismatch("was erased: what was learnt of it cannot be learnt again, nor what followed");
    if (line.type === "mark") return this.#mark(line);
    const { config, policies } = this.#known();
    if (line.type === "conversion") {
      this.tally.conversions++;
      return this.#ledger.convert(policies, line, this.#counted(line), config);
    }
    await this.#checkImpression(line);
    this.#ledger.show(policies, line);
  }

  /** Whether it counted when it came: what was rolled back since did then. */
  #counted({ seq, status }: ConversionLine): boolean {
    return status === "applied" || status === "conflict" || (status === "void" && this.#undone(seq));
  }

  #undone(seq: number): boolean {
    return this.#needs.rollbacks.some(({ to, at }) => to < seq && seq < at);
  }

  async #mark(line: MarkLine): Promise<void> {
    if (line.mark === "configuration") {
      const config = line.content;
      const { policies = await startModel(config), catalogue = new Catalogue([]) } = this.#state ?? {};
      this.#state = { config, featurize: featurizer(config), policies, catalogue };
      return;
    }
    const state = this.#known();
    if (line.mark === "actions") this.#state = { ...state, catalogue: new Catalogue(changedBy(state.catalogue.actions, line.content)) };
    else if (line.mark === "snapshot") this.#snapshot(line.content.digest, state.policies);
    else if (line.mark === "rollback") await this.#rollBack(line.content.to, state);
    else if (line.mark !== "erasure") throw new LogMismatch("is of no known kind");
  }

  #snapshot(digest: string, policies: Policies): void {
    for (const { policy } of policies) policy.refactor();
    this.#checkDigest(digest, policies);
  }

  #checkDigest(digest: string, [{ policy }]: Policies): void {
    const own = policy.digest();
    if (own !== digest) throw new LogMismatch(`digest is ${digest}, and comes out as ${own}`);
    this.tally.digests++;
  }

  async #rollBack(to: number, state: State): Promise<void> {
    const kept = this.#kept.get(to);
    if (!kept) throw new LogMismatch(`goes back to version ${to}, which never was`);
    this.#state = { ...state, policies: await restorePolicies(kept.parts) };
    this.#ledger.rollBack(to, state.config);
  }

  /** Keeps the state as it is, if a version before the next event is needed later; and forgets what no more is. */
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
  }

  async #checkImpression(line: ImpressionLine): Promise<void> {
    const { id, decision, round, seq, state, shownAt } = line;
    if (shownAtOf(id) !== shownAt) throw new LogMismatch(`shownAt is ${shownAt}, and its id is of ${shownAtOf(id)}`);
    if (round !== null && state !== (this.#undone(seq) ? "void" : "live")) throw new LogMismatch(`state is ${state}, though it was learnt`);
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
    const of = JSON.stringify([first, version, context, asked]);
    if (this.#last?.of === of && this.#last.decided.rows.length > place) return this.#last.decided;
    const state = version >= this.#seq && version < seq ? this.#known() : await this.#stateAt(version);
    const request = { context: context ?? undefined, exclude: [], ...asked, limit: place + 1 };
    const decided = decideAs((count) => Array.from({ length: count }, () => first), { ...state, version }, request, []);
    this.#last = { of, decided };
    return decided;
  }

  async #stateAt(version: number): Promise<State> {
    const restored = this.#restored.get(version);
    if (restored) return restored;
    const kept = this.#kept.get(version);
    if (!kept) throw new LogMismatch(`version is ${version}, which never was`);
    const { parts, ...rest } = kept;
    const state = { ...rest, policies: await restorePolicies(parts) };
    this.#restored.set(version, state);
    return state;
  }

  #known(): State {
    if (!this.#state) throw new LogMismatch("stands before any configuration: the log has lost its beginning");
    return this.#state;
  }

  /** After the last event: what has been learnt is what the log's head says, and each impression came to what its line says. */
  finish({ digest, config, modelVersion, lines }: HeadLine): void {
    if (lines !== this.#needs.lines) throw new LogMismatch(`the head: says that ${lines} lines follow, and there are ${this.#needs.lines}`);
    if (modelVersion < this.#seq) throw new LogMismatch(`the head: modelVersion is ${modelVersion}, and the last event is ${this.#seq}`);
    this.#ledger.checkOutcomes();
    const state = this.#known();
    try {
      differ("config", config, state.config);
      this.#checkDigest(digest, state.policies);
    } catch (error) {
      throw new LogMismatch(`the head: ${(error as Error).message}`);
    }
  }
}

/** A registered impression has at most a probability. */
function isElsewhere({ candidates, score, mean, width, probability }: NonNullable<ImpressionLine["decision"]>): boolean {
  return candidates === null && probability !== undefined && score === 0 && mean === 0 && width === 0;
}

function differ(name: string, logged: unknown, own: unknown): void {
  const [is, comes] = [JSON.stringify(logged), JSON.stringify(own)];
  if (is !== comes) throw new LogMismatch(`${name} is ${short(is)}, and comes out as ${short(comes)}`);
}

const short = (json: string | undefined): string => (json === undefined ? "absent" : json.length > 120 ? `${json.slice(0, 120)}…` : json);
