import { DurableObject } from "cloudflare:workers";
import { bucketAt } from "../domain/bucket.ts";
import { Catalogue } from "../domain/catalogue.ts";
import { decide, type Served } from "../domain/decision.ts";
import { acceptable, type Featurizer, featurizer, learnsAlike, type ModelConfig, prepareModel, toDyadic } from "../domain/model.ts";
import { encodePublication, PublicationStore, publicationOf } from "../domain/publication.ts";
import { CLOCK_TOLERANCE_MS, shownAtOf } from "../domain/token.ts";
import { type Environment, graceMs } from "../environment.ts";
import { type ConversionEvent, EventStore, type KeyedEvent } from "../kv/event-journal.ts";
import { located, Problem, unauthorised } from "../protocol/problem.ts";
import type { Action, Features, ModelBody } from "../protocol/schema.ts";
import type * as Message from "../rpc/message.ts";
import { explain } from "./explanation.ts";
import { refusal } from "./ledger.ts";
import { type Addition, type PastRow, Replica, type Team } from "./live-model.ts";
import { type Metrics, measure } from "./metrics.ts";
import type { ImpressionRow } from "./store/impression-store.ts";
import { LearnerStore } from "./store/learner-store.ts";
import type { LogRow } from "./store/log-store.ts";
import { Upkeep } from "./upkeep.ts";

interface Model {
  readonly config: ModelConfig;
  readonly featurize: Featurizer;
  readonly replica: Replica;
}

/**
 * One model: its state, and the single writer of it.
 * From the first read of a call to its last change nothing waits, so calls do not interleave.
 */
export class Learner extends DurableObject<Environment> {
  #store: LearnerStore;
  #model?: Model;
  #catalogue?: Catalogue;
  /** Impressions whose books are not closed; counted when it is needed first. */
  #open?: number;
  readonly #upkeep: Upkeep;

  constructor(ctx: DurableObjectState, env: Environment) {
    super(ctx, env);
    this.#store = new LearnerStore(ctx.storage);
    const exists = () => this.#store.exists;
    this.#upkeep = new Upkeep(ctx.storage, env, exists, () => ({ ...this.#known(), store: this.#store }));
    void ctx.blockConcurrencyWhile(() => this.#upkeep.start());
  }

  /** Creates the model; with a configuration that it has not learnt under, it is a conflict. */
  configure(name: string, body: ModelBody): Promise<Message.Answer<{ readonly created: boolean }>> {
    return answer(async () => {
      const { config } = await prepareModel(body);
      const created = !this.#store.exists;
      if (created) {
        const now = Date.now();
        this.#store.create(name, config, now, bucketAt(now - config.window.ms - graceMs(this.env), config.window.ms));
      } else if (!learnsAlike(this.#store.config, config)) {
        throw new Problem(
          409,
          `model ${name} has learnt under another configuration; POST it to /v1/models/${name}/reset to begin from scratch`,
        );
      } else if (JSON.stringify(this.#store.config) !== JSON.stringify(config)) {
        this.#store.reconfigure(config);
      } else {
        return { created };
      }
      this.#retire();
      await this.#upkeep.publishNow();
      return { created };
    });
  }

  /** Begins from scratch; what was shown before is over. Without a body the configuration stays. */
  reset(body: ModelBody | null): Promise<Message.Answer<null>> {
    return answer(async () => {
      const known = this.#known();
      const config = body ? (await prepareModel(body)).config : known.config;
      this.#store.reset(config, Math.max(Date.now(), this.#store.generation + 1));
      this.#forgetMemory();
      await this.#upkeep.publishNow();
      return null;
    });
  }

  /** Goes back to a kept snapshot, by default to the one before the newest. Returns its version and the new one. */
  rollBack(version?: number): Promise<Message.Answer<Message.Rollback>> {
    return answer(async () => {
      const { replica } = this.#known();
      const kept = this.#store.snapshots.versions();
      const to = version ?? kept[1] ?? kept[0];
      if (to === undefined) throw new Problem(409, "there is no kept snapshot to go back to yet");
      await replica.rollBack(to);
      await this.#upkeep.publishNow();
      return { restored: to, modelVersion: this.#store.seq, kept };
    });
  }

  /** Deletes the model and all that is stored of it; what KV's journal has of it expires. */
  remove(): Promise<Message.Answer<null>> {
    return answer(async () => {
      await this.#upkeep.inTurn(async () => {
        this.#known();
        await new PublicationStore(this.env.EVENTS).delete(this.#store.name);
        await this.ctx.storage.deleteAlarm();
        await this.ctx.storage.deleteAll();
        this.#forgetMemory();
        this.#store = new LearnerStore(this.ctx.storage);
      });
      return null;
    });
  }

  /** What is in memory was made by another configuration. */
  #retire(): void {
    this.#model?.replica.retire();
    this.#model = undefined;
  }

  #forgetMemory(): void {
    this.#retire();
    this.#catalogue = undefined;
    this.#open = undefined;
    this.#upkeep.disarm();
  }

  /** Configuration, counts and digest. */
  describe(): Promise<Message.Answer<Message.Description>> {
    return answer(async () => {
      const { config, replica } = this.#known();
      const [{ policy }] = await replica.start();
      const { converted, retracted, impressions, missed, refused, dropped, keptOut, ...events } = this.#store.counters();
      const open = this.#store.impressions.liveSince(Date.now() - config.window.ms);
      const pending = open.impressions - open.told;
      const settled = impressions - open.impressions;
      const { version, at } = this.#store.published;
      return {
        model: this.#store.name,
        ...config,
        counts: { impressions, pending, converted, retracted, expired: impressions - pending - converted - retracted, ...events },
        incidents: { missed, refused, dropped, keptOut },
        actions: this.#actions.size,
        bytes: this.#store.bytes,
        digest: policy.digest(),
        modelVersion: this.#store.seq,
        published: at === null ? null : { version, at },
        kept: this.#store.snapshots.versions(),
        // Only of impressions whose window has passed: which of the younger ones will still convert is not known.
        conversionRate: settled > 0 ? (converted - open.converted) / settled : null,
      };
    });
  }

  /** What its dashboard shows. */
  metrics(): Promise<Message.Answer<Metrics>> {
    return answer(async () => {
      const { counts } = unwrapped(await this.describe());
      return measure(this.#store, this.#known().config, counts, Date.now());
    });
  }

  /** Replaces the catalogue. */
  setActions(actions: readonly Action[]): Promise<Message.Answer<{ readonly actions: number }>> {
    return answer(async () => {
      const { featurize } = this.#known();
      const catalogue = new Catalogue(actions);
      for (const action of actions) featurize.vector(undefined, action);
      this.#store.transact(() => this.#store.replaceActions(actions));
      this.#catalogue = catalogue;
      await this.#upkeep.publishNow();
      return { actions: actions.length };
    });
  }

  /** Decides, and registers each shown action as an impression. */
  recommend(request: Message.RecommendRequest): Promise<Message.Answer<Message.Recommendation>> {
    return answer(async () => {
      const { config, replica } = this.#known();
      const team = await replica.start();
      this.#admit(request.limit);
      // A clock that was set back does not reach into closed buckets, nor before a reset.
      const shownAt = Math.max(Date.now(), this.#store.watermark, this.#store.horizon);
      const { arm, rows, actions } = decide(this.#served(team), request, request.keys, shownAt);
      const modelVersion = this.#store.seq;
      this.#opened(replica.add(team, rows, { deferred: request.defer }));
      await this.#upkeep.arm(shownAt);
      return { modelVersion, policy: config.policy, arm, windowEndsAt: shownAt + config.window.ms, actions };
    });
  }

  #served(team: Team): Served {
    const { config, featurize } = this.#known();
    return { config, featurize, catalogue: this.#actions, team, version: this.#store.seq };
  }

  /**
   * Registers what isolates have shown by a published snapshot. What is known already changes nothing; what is too old, beyond a
   * limit, or of another model of this name is refused, and counted.
   */
  registerShown({ batch, dropped, keptOut }: Message.Registration): Promise<Message.Answer<{ readonly newest: number }>> {
    return answer(async () => {
      const { replica } = this.#known();
      const team = await replica.start();
      const now = Date.now();
      const oldest = this.#oldestOpen(now);
      const arrived = batch.flatMap(({ rows, ...of }) => rows.map((row) => ({ row, shownAt: shownAtOf(row.id), ...of })));
      const known = this.#store.impressions.known(arrived.map(({ row }) => row.id));
      const unknown = arrived.filter(({ row }) => !known.has(row.id));
      const timely = unknown.filter(({ row, shownAt, generation }) => {
        const inTime = shownAt >= oldest && shownAt <= now + CLOCK_TOLERANCE_MS;
        return generation === this.#store.generation && inTime && isCountable(team, row);
      });
      const fitting = timely.slice(0, Math.max(0, this.#room()));
      for (const deferred of [false, true]) {
        const rows = fitting.flatMap((each) => (each.deferred === deferred ? [each.row] : []));
        if (rows.length > 0) this.#opened(replica.add(team, rows, { deferred }));
      }
      const shown = fitting.map(({ shownAt }) => shownAt);
      this.#store.transact(() => {
        this.#store.count("refused", unknown.length - fitting.length);
        this.#store.count("dropped", dropped);
        this.#store.count("keptOut", keptOut);
        if (shown.length > 0) this.#store.setLag(Math.max(0, now - Math.max(...shown)));
      });
      if (shown.length > 0) await this.#upkeep.arm(Math.min(...shown));
      return { newest: this.#store.published.version };
    });
  }

  /** What was shown before it is not taken any more. */
  #oldestOpen(now: number): number {
    const { windowMs, graceMs } = this.#upkeep.timing();
    return Math.max(now - windowMs - graceMs, this.#store.watermark, this.#store.horizon);
  }

  /** Registers impressions decided elsewhere, by a page only if the model is open to pages: all or, if one is refused, none. */
  register(
    items: readonly Message.Shown[],
    { byPage = false }: { readonly byPage?: boolean } = {},
  ): Promise<Message.Answer<readonly Message.Registered[]>> {
    return answer(async () => {
      const { config, replica } = this.#known();
      if (byPage && !config.local) throw unauthorised();
      const team = await replica.start();
      const rows = items.map((item, index) => placed(`[${index}]`, () => this.#shown(item, team, false)));
      this.#admit(rows.filter(({ id, name }) => !this.#store.impressions.registered(id, name)).length);
      const added = replica.add(team, rows);
      this.#opened(added);
      await this.#upkeep.arm(Math.min(...rows.map(({ id }) => shownAtOf(id))));
      return added.map(({ row: { id, action, decision, version }, status }) => {
        const probability = decision?.probability;
        const windowEndsAt = shownAtOf(id) + config.window.ms;
        return { id, action, ...(probability !== undefined && { probability }), modelVersion: version, windowEndsAt, status };
      });
    });
  }

  #shown({ id, name, context, action, features, probability, keys }: Message.Shown, team: Team, past: boolean): ImpressionRow {
    const { featurize } = this.#known();
    const now = Date.now();
    const shownAt = shownAtOf(id);
    if (shownAt > now + CLOCK_TOLERANCE_MS) throw new Problem(422, "shownAt: lies in the future");
    const oldest = past ? this.#store.horizon : this.#oldestOpen(now);
    // What is known already stays the same, whatever its age.
    if (shownAt < oldest && !this.#store.impressions.registered(id, name)) {
      throw new Problem(422, "shownAt: its window has passed, and the grace after it");
    }
    const shown = features ? action : this.#actions.find(action);
    const point = features ? Float64Array.from(features, toDyadic) : featurize.vector(context, shown);
    const decision = probability === undefined ? null : { score: 0, mean: 0, width: 0, probability, place: 0, candidates: null };
    return {
      id,
      name,
      action: shown.id,
      features: acceptable(() => countable(team, point)),
      context: context ?? null,
      arm: "policy",
      version: this.#store.seq,
      decision,
      keys,
    };
  }

  /** Takes conversions, each with what became of it. Needs no policy in memory: what is stored is learnt at the latest by the next start. */
  ingest(events: readonly (ConversionEvent | KeyedEvent)[]): Promise<Message.Answer<readonly Message.Intake[]>> {
    return answer(async () => {
      if (!this.#store.exists) return events.map(() => ({ status: "unknown" as const }));
      const intakes = this.#known().replica.enter(events);
      if (events.length > 0) {
        await this.#upkeep.arm(Math.min(...events.map((event) => ("impression" in event ? shownAtOf(event.impression) : event.at))));
      }
      return intakes;
    });
  }

  /** Takes lines of a past log: impressions in order of time, each before its conversions. All of them or none. */
  importLog(lines: readonly Message.PastLine[]): Promise<Message.Answer<Message.Imported>> {
    return answer(async () => {
      const { config, replica } = this.#known();
      const team = await replica.start();
      const rows = lines.map((line) => placed(`line ${line.line}`, () => this.#past(line, team))).filter((row) => row !== null);
      this.#admit(rows.filter((row) => "features" in row && this.#isOpen(row.id) && !this.#store.impressions.find(row.id)).length);
      const imported = { impressions: 0, repeated: 0, conversions: {} as Record<string, number> };
      replica.takePast(team, rows).forEach((status, i) => {
        if (!("features" in rows[i])) imported.conversions[status] = (imported.conversions[status] ?? 0) + 1;
        else imported[status === "registered" ? "impressions" : "repeated"]++;
      });
      this.#open = undefined;
      if (rows.length > 0) {
        const oldest = Math.min(...rows.map((row) => shownAtOf("features" in row ? row.id : row.event.impression)));
        this.#store.transact(() => this.#store.summarise(bucketAt(oldest, config.window.ms), this.#store.watermark));
        await this.#upkeep.arm();
      }
      return imported;
    });
  }

  /** Null for what was deferred and never shown. */
  #past(line: Message.PastLine, team: Team): PastRow | null {
    if (line.type === "impression") {
      const { arm, state } = line;
      return state === "deferred" && !this.#isOpen(line.id) ? null : { ...this.#shown(line, team, true), arm, state };
    }
    const { event, status } = line;
    const detail = refusal(event, this.#known().config);
    if (detail) throw new Problem(422, detail);
    return { event, status };
  }

  #isOpen(id: string): boolean {
    return shownAtOf(id) >= this.#store.watermark;
  }

  /** Lines of the log after a row, in order, and how the log begins. */
  log(after: number): Promise<Message.Answer<{ readonly model: Message.LogHead; readonly lines: readonly LogRow[] }>> {
    return answer(async () => {
      const { config, replica } = this.#known();
      const [{ policy }] = await replica.start();
      const { name: model, generation, horizon, seq: modelVersion } = this.#store;
      const head = { model, generation, horizon, modelVersion, config, after, lines: this.#store.log.countAfter(after) };
      return { model: { ...head, exportedAt: Date.now(), digest: policy.digest() }, lines: this.#store.log.page(after) };
    });
  }

  /** An impression, how it was decided, and what the model thinks of it now; null if it is not known. */
  impression(id: string): Promise<Message.Answer<Message.Explanation | null>> {
    return answer(async () => {
      if (!this.#store.exists) return null;
      const team = await this.#known().replica.start();
      return explain(this.#store, this.#served(team), id, Date.now());
    });
  }

  /** A deferred impression was shown. Null if it is not known. */
  activate(id: string): Promise<Message.Answer<"activated" | "duplicate" | null>> {
    return answer(async () => {
      if (!this.#store.exists) return null;
      const { replica } = this.#known();
      const team = await replica.start();
      const impression = this.#store.impressions.find(id);
      if (!impression || impression.state === "void") return null;
      if (impression.state === "live") return "duplicate";
      replica.activate(team, impression);
      await this.#upkeep.arm(shownAtOf(id));
      return "activated";
    });
  }

  /** Erases what is stored of an impression; what was learnt from it stays, as part of sums. False if it is not known. */
  erase(id: string): Promise<Message.Answer<boolean>> {
    return answer(async () => this.#store.exists && (await this.#erase([id])) > 0);
  }

  /** Erases all impressions that a key was given for. Returns how many. */
  eraseKey(key: string): Promise<Message.Answer<number>> {
    return answer(async () => {
      this.#known();
      const erased = await this.#erase(this.#store.impressions.withKey(key));
      this.#store.transact(() => this.#store.conversions.eraseKey(key));
      return erased;
    });
  }

  async #erase(ids: readonly string[]): Promise<number> {
    const { replica } = this.#known();
    await replica.start();
    const known = ids.filter((id) => this.#store.impressions.find(id)?.erased === false);
    if (known.length === 0) return 0;
    const journal = new EventStore(this.env.EVENTS, this.#store.name, this.#upkeep.timing());
    await Promise.all(known.map((id) => journal.erase(id)));
    await replica.snapshotAnd(() => {
      for (const id of known) this.#store.erase(id);
    });
    return known.length;
  }

  /** Mean and width of each action of the catalogue in a context, as the model thinks now. */
  estimates(context?: Features): Promise<Message.Answer<readonly Message.Estimate[]>> {
    return answer(async () => {
      const { featurize, replica } = this.#known();
      const [{ policy }] = await replica.start();
      const { actions, size } = this.#actions;
      if (size === 0 || policy.hasDomain) return [];
      const points = featurize.matrix(context, actions);
      const choices = acceptable(() => policy.choose({ points, round: policy.impressions + 1, now: Date.now(), limit: size }));
      return choices.sort((a, b) => a.index - b.index).map(({ index, mean, width }) => ({ id: actions[index].id, mean, width }));
    });
  }

  /** What there is to publish now, for an isolate that KV has nothing for. */
  publication(): Promise<Message.Answer<Uint8Array<ArrayBuffer>>> {
    return answer(async () => {
      const { replica } = this.#known();
      if (!this.#store.snapshots.newest()) await replica.snapshot();
      return encodePublication(publicationOf(this.#store, Date.now()));
    });
  }

  /** The state of the served policy as bytes. Reading it takes no place among the snapshots to go back to. */
  snapshot(): Promise<Message.Answer<{ readonly version: number; readonly bytes: Uint8Array }>> {
    return answer(async () => {
      const { seq, parts } = await this.#known().replica.newest();
      return { version: seq, bytes: parts[0] };
    });
  }

  /** @see Upkeep.heal */
  heal(): Promise<Message.Answer<null>> {
    return answer(async () => {
      if (!this.#store.exists) return null;
      await this.#upkeep.heal();
      this.#open = undefined;
      return null;
    });
  }

  override async alarm(): Promise<void> {
    await this.#upkeep.run();
    // Closing has moved what counts as open.
    this.#open = undefined;
  }

  /** @throws {Problem} 429 if there is no room for more impressions. */
  #admit(count: number): void {
    if (this.#room() >= count) return;
    const { open, bytes } = this.#known().config.limits;
    throw new Problem(429, `the model holds as much as it may: ${open} open impressions, or ${bytes} bytes`);
  }

  /** How many more impressions may be open. */
  #room(): number {
    const { limits } = this.#known().config;
    this.#open ??= this.#store.impressions.countSince(this.#store.watermark);
    return this.#store.bytes >= limits.bytes ? 0 : limits.open - this.#open;
  }

  #opened(added: readonly Addition[]): void {
    if (this.#open !== undefined) this.#open += added.filter(({ status }) => status === "registered").length;
  }

  #known(): Model {
    if (!this.#model) {
      if (!this.#store.exists) throw new Problem(404, "there is no such model");
      const { config } = this.#store;
      this.#model = { config, featurize: featurizer(config), replica: new Replica(this.#store, config) };
    }
    return this.#model;
  }

  get #actions(): Catalogue {
    this.#catalogue ??= new Catalogue(this.#store.actions());
    return this.#catalogue;
  }
}

/** @throws {TypeError | RangeError} if a policy of the team that looks at features cannot count these. */
function countable(team: Team, features: Float64Array): Float64Array {
  for (const { policy } of team) if (policy.dimension > 0) policy.features(features);
  return features;
}

/** A row that the team would refuse must not come back for ever with the batch it is in. */
function isCountable(team: Team, { features }: ImpressionRow): boolean {
  try {
    countable(team, features);
    return true;
  } catch {
    return false;
  }
}

async function answer<T>(work: () => Promise<T>): Promise<Message.Answer<T>> {
  try {
    return { value: await work() };
  } catch (error) {
    if (error instanceof Problem) return { problem: { status: error.status, detail: error.message } };
    throw error;
  }
}

function unwrapped<T>(given: Message.Answer<T>): T {
  if ("problem" in given) throw new Problem(given.problem.status, given.problem.detail);
  return given.value;
}

/** Names the item of a batch that was refused. */
function placed<T>(place: string, check: () => T): T {
  try {
    return check();
  } catch (error) {
    throw located(error, place);
  }
}
