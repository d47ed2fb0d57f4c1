import { DurableObject } from "cloudflare:workers";
import { SnapshotError } from "afterclick";
import type { Featurizer } from "../../publication/featurizer.ts";
import { beliefsOf } from "../domain/belief.ts";
import { bucketAt } from "../domain/bucket.ts";
import { checkCandidates, checkNumbers } from "../domain/capacity.ts";
import { changeBetween, checkActions } from "../domain/catalogue.ts";
import { decide } from "../domain/decision.ts";
import { EncodingReport, withVocabulary } from "../domain/encoding.ts";
import type { ConversionEvent, KeyedEvent } from "../domain/event.ts";
import type { ImpressionRow } from "../domain/impression.ts";
import { giverOf, type KeyHashes } from "../domain/join-key.ts";
import type { LogRow } from "../domain/log-line.ts";
import { configureModel, featurizer, isSame, type ModelConfig, reconfigureModel, relearntModel, renewed } from "../domain/model.ts";
import type { Policies } from "../domain/policies.ts";
import type { HeldEdition } from "../domain/publication.ts";
import { sampled } from "../domain/sampling.ts";
import type { Served } from "../domain/served.ts";
import { CLOCK_TOLERANCE_MS } from "../domain/token.ts";
import { shownAtOf } from "../domain/uuid.ts";
import { type Environment, graceMs } from "../environment.ts";
import { EventJournal } from "../kv/event-journal.ts";
import { PublicationStore } from "../kv/publication-store.ts";
import type { Catalogue as Changed, Imported, Rollback } from "../protocol/answers.ts";
import { Problem, unknownModel } from "../protocol/problem.ts";
import type { Action, ActionsPatch, Features, ModelBody, ModelPatch } from "../protocol/schema.ts";
import type { LearnerRpc } from "../rpc/learner.ts";
import type * as Message from "../rpc/message.ts";
import { Admission } from "./admission.ts";
import { Archive } from "./archive.ts";
import { Arrivals, type Earlier } from "./arrivals.ts";
import { ClosedWindows } from "./closed-windows.ts";
import { type Describing, describe } from "./description.ts";
import { examine } from "./examination.ts";
import { explain } from "./explanation.ts";
import { isOfNamesake } from "./ledger.ts";
import { LiveModel } from "./live-model.ts";
import { measure } from "./metrics.ts";
import { Publisher } from "./publishing.ts";
import { isCountable, pastRowsOf, rowsOf } from "./registering.ts";
import { Relearning, remade } from "./relearning.ts";
import { LearnerStore } from "./store/learner-store.ts";
import { Upkeep } from "./upkeep.ts";

/** Objects made from one configuration. */
interface Model {
  readonly config: ModelConfig;
  /** Makes feature vectors. Throws 409 if an earlier encoder made those that the model has learnt. */
  readonly featurize: () => Featurizer;
  readonly live: LiveModel;
  readonly admission: Admission;
  readonly report: EncodingReport;
  readonly closed: ClosedWindows;
}

/**
 * The Durable Object of one model: its state, and the only writer of that state.
 * A call does not await between its first read and its last change, so calls do not interleave.
 */
export class Learner extends DurableObject<Environment> implements LearnerRpc {
  readonly #store: LearnerStore;
  readonly #publisher: Publisher;
  /** Absent without a bucket. */
  readonly #archive?: Archive;
  #model?: Model;
  readonly #relearning: Relearning;
  readonly #upkeep: Upkeep;

  constructor(ctx: DurableObjectState, env: Environment) {
    super(ctx, env);
    this.#store = new LearnerStore(ctx.storage);
    this.#publisher = new Publisher(this.#store);
    this.#relearning = new Relearning(this.#store);
    if (env.ARCHIVE) this.#archive = new Archive(env.ARCHIVE, this.#store);
    const exists = () => this.#store.exists;
    this.#upkeep = new Upkeep(ctx.storage, env, exists, () => {
      return { ...this.#known(), store: this.#store, publisher: this.#publisher, relearning: this.#relearning, archive: this.#archive };
    });
    void ctx.blockConcurrencyWhile(() => this.#upkeep.start());
  }

  configure(name: string, body: ModelBody): Promise<Message.Answer<{ readonly created: boolean }>> {
    return answer(async () => {
      const { configuration } = this.#store;
      const stored = configuration === undefined ? undefined : this.#store.config;
      const config = await (stored ? reconfigureModel(body, stored) : configureModel(body));
      // Another call has changed it meanwhile.
      if (this.#store.configuration !== configuration) return unwrapped(await this.configure(name, body));
      if ("conflict" in config) {
        throw new Problem(
          409,
          `model ${name} has learnt under another configuration: ${config.conflict}. Send the old value, or POST the new configuration to ` +
            `/v1/models/${name}/reset: it learns the log again if the body says "from": "log", else it forgets what was learnt`,
        );
      }
      if (stored && isSame(stored, config)) return { created: false };
      const now = Date.now();
      if (stored) this.#store.reconfigure(config);
      else this.#store.create(name, config, now, bucketAt(now - config.window.ms - graceMs(this.env), config.window.ms));
      await this.#upkeep.publishNow();
      return { created: !stored };
    });
  }

  reconfigure(body: ModelPatch): Promise<Message.Answer<null>> {
    return answer(async () => {
      if (!this.#store.exists) throw unknownModel();
      unwrapped(await this.configure(this.#store.name, { window: this.#store.config.window, ...body }));
      return null;
    });
  }

  reset(body: ModelBody | null): Promise<Message.Answer<null>> {
    return answer(async () => {
      if (!this.#store.exists) throw unknownModel();
      const config = body ? await configureModel(body) : renewed(this.#store.config);
      this.#store.reset(withVocabulary(config, this.#store.catalogue.actions), Math.max(Date.now(), this.#store.generation + 1));
      this.#upkeep.disarm();
      await this.#upkeep.publishNow();
      return null;
    });
  }

  rollBack(version?: number): Promise<Message.Answer<Rollback>> {
    return answer(async () => {
      const { live } = this.#known();
      const kept = this.#store.snapshots.versions();
      const to = version ?? kept[1] ?? kept[0];
      if (to === undefined) throw new Problem(409, "there is no kept snapshot to go back to yet");
      await live.rollBack(to);
      await this.#upkeep.publishNow();
      return { restored: to, modelVersion: this.#store.seq, kept };
    });
  }

  remove(): Promise<Message.Answer<null>> {
    return answer(async () => {
      await this.#upkeep.inTurn(async () => {
        if (!this.#store.exists) throw unknownModel();
        await new PublicationStore(this.env.EVENTS).delete(this.#store.name);
        await this.ctx.storage.deleteAlarm();
        await this.#store.deleteAll();
        this.#upkeep.disarm();
      });
      return null;
    });
  }

  removeArchive(name: string): Promise<Message.Answer<null>> {
    return answer(async () => {
      await this.#archive?.deleteAll(name);
      return null;
    });
  }

  relearn(body: ModelPatch): Promise<Message.Answer<null>> {
    return answer(async () => {
      if (!this.#store.exists) throw unknownModel();
      const config = await relearntModel(body, this.#store.config);
      await this.#relearn(config);
      return null;
    });
  }

  /** Begins to learn the log again. The alarm does it page by page. */
  async #relearn(config: ModelConfig): Promise<void> {
    this.#relearning.begin(withVocabulary(config, this.#store.catalogue.actions), Date.now());
    await this.#upkeep.hurry();
  }

  describe(): Promise<Message.Answer<Message.Description>> {
    return answer(async () => describe(this.#store, await this.#describing(), Date.now()));
  }

  async #describing(): Promise<Describing> {
    const { report } = this.#known();
    const digest = await this.#digest();
    return { report, digest, relearning: this.#relearning.progress(Date.now()) };
  }

  metrics(): Promise<Message.Answer<Message.Measurement>> {
    return answer(async () => {
      const { config } = this.#known();
      const describing = await this.#describing();
      const policies = describing.digest === null ? undefined : await this.#policies();
      const now = Date.now();
      return measure(this.#store, config, describe(this.#store, describing, now), policies?.[0].policy.change ?? null, now);
    });
  }

  examination(): Promise<Message.Answer<Message.Examination>> {
    return answer(async () => {
      const { config, live } = this.#known();
      const [{ policy }] = await this.#policies();
      const { log, seq } = this.#store;
      const page = (after: number) => {
        // A reset meanwhile has started another log.
        if (!live.isCurrent) throw new Problem(503, "the model is starting again");
        return log.page(after);
      };
      return examine({ config, policy, seq, page });
    });
  }

  setActions(actions: readonly Action[]): Promise<Message.Answer<Changed>> {
    return answer(() => this.#replaceActions(actions));
  }

  changeActions(patch: ActionsPatch): Promise<Message.Answer<Changed>> {
    return answer(async () => {
      this.#known();
      return this.#replaceActions(this.#store.catalogue.with(patch));
    });
  }

  async #replaceActions(actions: readonly Action[]): Promise<Changed> {
    const { config, featurize } = this.#known();
    checkActions(actions);
    const { size, changed } = changeBetween(this.#store.catalogue.actions, actions);
    // A repeated catalogue is no new version, and publishes what was learnt meanwhile.
    if (changed.length === 0 && size === this.#store.catalogue.size) await this.#upkeep.publishNow();
    else {
      checkCandidates(config, size);
      for (const [, action] of changed) featurize().vector(undefined, action);
      checkNumbers(config, size);
      const encoding = withVocabulary(config, actions);
      this.#store.transact(() => {
        if (encoding !== config) this.#store.reconfigure(encoding);
        this.#store.replaceActions(actions);
      });
      await (encoding === config ? this.#upkeep.publishCatalogue() : this.#upkeep.publishNow());
    }
    return { actions: size, version: this.#store.catalogue.version };
  }

  recommend(request: Message.RecommendRequest): Promise<Message.Answer<Message.Recommendation>> {
    return answer(async () => {
      const { config, live, admission } = this.#known();
      const policies = await this.#policies();
      if (request.defer) admission.checkDeferred(request.limit, request.byPage);
      // A clock that was set back must not reach into closed buckets, nor before a reset.
      const shownAt = Math.max(Date.now(), this.#store.watermark, this.#store.retainedSince);
      const { arm, rows, actions } = decide(this.#served(policies), request, request.keys, shownAt);
      const sampling = admission.sampling(rows.length)[giverOf(request.byPage)];
      const { seq: modelVersion, generation } = this.#store;
      live.add(policies, sampled(rows, sampling), { deferred: request.defer });
      await this.#upkeep.arm(shownAt);
      return { generation, sampling, modelVersion, policy: config.policy, arm, windowEndsAt: shownAt + config.window.ms, actions };
    });
  }

  #served(policies: Policies): Served {
    const { config, featurize } = this.#known();
    return { config, featurize: featurize(), catalogue: this.#store.catalogue, policies, version: this.#store.seq };
  }

  registerShown(registration: Message.Registration): Promise<Message.Answer<Message.Registry>> {
    return answer(async () => {
      const { live, admission } = this.#known();
      const policies = await this.#policies();
      const now = Date.now();
      const oldest = this.#oldestOpen(now);
      const { generation } = this.#store;
      const arrivals = new Arrivals(registration, this.#earlier());
      const known = this.#store.impressions.known(arrivals.all);
      const unknown = arrivals.all.filter(({ id }) => !known.has(id));
      const timely = unknown.filter(({ shownAt, decision, features }) => {
        const inTime = shownAt >= oldest && shownAt <= now + CLOCK_TOLERANCE_MS;
        return decision.generation === generation && inTime && isCountable(policies, features());
      });
      const fitting = timely.filter(admission.fitting());
      arrivals.add(live, policies, fitting);
      const times = fitting.map(({ shownAt }) => shownAt);
      this.#store.transact(() => {
        const { database } = this.#store;
        database.count("refused", unknown.length - fitting.length);
        database.count("dropped", registration.dropped);
        database.count("keptOut", registration.keptOut);
        for (const { unsampled, byPage } of registration.decisions) live.leaveOut(unsampled, byPage);
        if (times.length > 0) database.setLag(Math.max(0, now - Math.max(...times)));
      });
      if (times.length > 0) await this.#upkeep.arm(Math.min(...times));
      return { generation, newest: this.#store.offered, catalogue: this.#store.catalogueVersion(), sampling: admission.sampling() };
    });
  }

  /** Impressions decided before the log was learnt again have features of another encoder. They are made anew. */
  #earlier(): Earlier {
    const { config, featurize } = this.#known();
    const { catalogue, relearntAt } = this.#store;
    return { until: config.encoder ? relearntAt : 0, features: (row) => remade(row, featurize(), catalogue) };
  }

  /** The earliest time shown that is still taken. */
  #oldestOpen(now: number): number {
    const { windowMs, graceMs } = this.#upkeep.timing();
    return Math.max(now - windowMs - graceMs, this.#store.watermark, this.#store.retainedSince);
  }

  register(
    items: readonly Message.Shown[],
    { byPage = false }: { readonly byPage?: boolean } = {},
  ): Promise<Message.Answer<readonly Message.Registered[]>> {
    return answer(async () => {
      const { config, featurize, live, admission } = this.#known();
      if (byPage && !config.local) {
        throw new Problem(403, 'the model takes no impressions with a publishable key: put it with "local": true, or use the secret key');
      }
      const policies = await this.#policies();
      const rows = rowsOf(items, { store: this.#store, config, featurize: featurize(), policies, byPage }, this.#oldestOpen(Date.now()));
      if (byPage) this.#checkFree(items, rows);
      const sampling = admission.sampling(rows.length)[giverOf(byPage)];
      const added = live.add(policies, sampled(rows, sampling));
      await this.#upkeep.arm(Math.min(...rows.map(({ id }) => shownAtOf(id))));
      const { generation } = this.#store;
      return added.map(({ row: { id, action, decision, version, sampling = 0 }, status }) => {
        const probability = decision?.probability;
        const windowEndsAt = shownAtOf(id) + config.window.ms;
        return { id, action, probability, generation, sampling, modelVersion: version, windowEndsAt, status };
      });
    });
  }

  /** @throws {Problem} 409 if an id that a page gave belongs to another impression. */
  #checkFree(items: readonly Message.Shown[], rows: readonly ImpressionRow[]): void {
    const isTaken = ({ id, name, action }: ImpressionRow) => (this.#store.impressions.registered(id, name)?.action ?? action) !== action;
    const place = rows.findIndex((row, i) => items[i].taken || isTaken(row));
    if (place < 0) return;
    this.#store.transact(() => this.#store.database.count("collisions"));
    throw new Problem(409, `[${place}] id: belongs to another impression; give each impression an id of its own`);
  }

  /** Needs no running policies: they replay the conversions when they start. */
  ingest(events: readonly (ConversionEvent | KeyedEvent)[]): Promise<Message.Answer<readonly Message.Intake[]>> {
    return answer(async () => {
      if (!this.#store.exists) return events.map(() => ({ status: "unknown" as const }));
      const intakes = this.#known().live.enter(events);
      if (events.length > 0) {
        await this.#upkeep.arm(Math.min(...events.map((event) => ("impression" in event ? shownAtOf(event.impression) : event.at))));
      }
      return intakes;
    });
  }

  importLog(lines: readonly Message.PastLine[]): Promise<Message.Answer<Imported>> {
    return answer(async () => {
      const { config, featurize, live, admission } = this.#known();
      const policies = await this.#policies();
      const rows = pastRowsOf(lines, { store: this.#store, config, featurize: featurize(), policies });
      const isOpen = (id: string) => shownAtOf(id) >= this.#store.watermark;
      admission.check(rows.filter((row) => "features" in row && isOpen(row.id) && !this.#store.impressions.find(row.id)).length);
      const imported = { impressions: 0, repeated: 0, conversions: {} as Record<string, number> };
      live.takePast(policies, rows).forEach((status, i) => {
        if (!("features" in rows[i])) imported.conversions[status] = (imported.conversions[status] ?? 0) + 1;
        else imported[status === "registered" ? "impressions" : "repeated"]++;
      });
      if (rows.length > 0) {
        const oldest = Math.min(...rows.map((row) => shownAtOf("features" in row ? row.id : row.event.impression)));
        await this.#upkeep.arm(oldest);
      }
      return imported;
    });
  }

  log(after: number): Promise<Message.Answer<{ readonly model: Message.LogHead; readonly lines: readonly LogRow[] }>> {
    return answer(async () => {
      if (!this.#store.exists) throw unknownModel();
      const digest = await this.#digest();
      const { name: model, config, generation, retainedSince: horizon, seq: modelVersion } = this.#store;
      const files = after === 0 ? this.#store.archive.files(horizon) : [];
      const archive = files.length > 0 && { archive: files };
      const head = { model, generation, horizon, modelVersion, config, after, lines: this.#store.log.countAfter(after), ...archive };
      return { model: { ...head, exportedAt: Date.now(), digest }, lines: this.#store.log.page(after) };
    });
  }

  /** Null if this version of the worker does not read the state. Its log can be exported all the same. */
  async #digest(): Promise<string | null> {
    try {
      const [{ policy }] = await this.#known().live.start();
      return policy.digest();
    } catch (error) {
      if (isUnreadable(error)) return null;
      throw error;
    }
  }

  /**
   * The running policies. If another version of this worker wrote their state, the log is learnt again.
   * @throws {Problem} 503 until that is done.
   */
  async #policies(): Promise<Policies> {
    try {
      const { live, featurize } = this.#known();
      featurize();
      return await live.start();
    } catch (error) {
      if (!isUnreadable(error)) throw error;
      await this.#recover();
      const { done, rows } = this.#relearning.progress(Date.now()) ?? { done: 0, rows: 0 };
      throw new Problem(503, `another version of this worker wrote the model's state; its log is learnt again: ${done} of ${rows} rows`);
    }
  }

  /** Learns the log again because the state cannot be read. */
  async #recover(): Promise<void> {
    if (this.#relearning.isRunning) return;
    const { config } = this.#store;
    await this.#relearn(await relearntModel({}, config));
  }

  impression(id: string): Promise<Message.Answer<Message.Explanation | null>> {
    return answer(async () => {
      if (!this.#store.exists) return null;
      const policies = await this.#known().live.start();
      return explain(this.#store, this.#served(policies), id, Date.now());
    });
  }

  activate(id: string): Promise<Message.Answer<"activated" | "duplicate" | null>> {
    return answer(async () => {
      if (!this.#store.exists) return null;
      const { config, live } = this.#known();
      const policies = await this.#policies();
      const impression = this.#store.impressions.find(id);
      if (!impression || impression.state === "void") return null;
      if (impression.state === "live") return "duplicate";
      if (shownAtOf(id) < Date.now() - config.deferral.ms) return null;
      live.activate(policies, impression);
      await this.#upkeep.arm(shownAtOf(id));
      return "activated";
    });
  }

  erase(id: string, generation: number): Promise<Message.Answer<boolean>> {
    return answer(async () => {
      if (!this.#store.exists || isOfNamesake(this.#store, id, generation)) return false;
      if (shownAtOf(id) < this.#store.retainedSince) return ((await this.#archive?.erase([id]))?.size ?? 0) > 0;
      await this.#erase([id]);
      await this.#archive?.erase([id]);
      return true;
    });
  }

  eraseKey(hashes: KeyHashes): Promise<Message.Answer<number>> {
    return answer(async () => {
      this.#known();
      const erased = await this.#erase(this.#store.impressions.withKey(hashes));
      this.#store.transact(() => this.#store.conversions.eraseKey(hashes));
      const archived = (await this.#archive?.eraseKey(hashes)) ?? new Set();
      return erased + Array.from(archived).filter((id) => shownAtOf(id) < this.#store.retainedSince).length;
    });
  }

  async #erase(ids: readonly string[]): Promise<number> {
    const { live } = this.#known();
    await this.#policies();
    const journal = new EventJournal(this.env.EVENTS, this.#store.name, this.#upkeep.timing());
    // The journal of audited buckets has expired.
    const journalled = ids.filter((id) => shownAtOf(id) >= this.#store.audited);
    await Promise.all(journalled.map((id) => journal.erase(id)));
    const left = ids.filter((id) => !this.#store.impressions.find(id)?.erased);
    // The publication may hold a vector that is forgotten now.
    if (left.length > 0 && (await live.erase(left))) await this.#upkeep.publishNow();
    return left.length;
  }

  estimates(context?: Features): Promise<Message.Answer<readonly Message.Estimate[]>> {
    return answer(async () => {
      const { featurize, closed } = this.#known();
      const [{ policy }] = await this.#policies();
      const { actions, size } = this.#store.catalogue;
      if (size === 0 || policy.hasDomain) return [];
      const points = featurize().matrix(context, actions);
      const now = Date.now();
      return beliefsOf(policy, { actions, points }).map((belief, i) => {
        const { id } = actions[i];
        return { id, belief, closed: closed.count(context, id, now) };
      });
    });
  }

  publication(): Promise<Message.Answer<Uint8Array<ArrayBuffer>>> {
    return answer(async () => {
      await this.#snapshotChanges();
      return this.#publisher.whole();
    });
  }

  newer(held: HeldEdition, always = false): Promise<Message.Answer<Message.News>> {
    return answer(async () => {
      await this.#snapshotChanges();
      return this.#publisher.newer(held, always);
    });
  }

  /** A snapshot is published with the configuration of its own version. */
  async #snapshotChanges(): Promise<void> {
    await this.#policies();
    const { live } = this.#known();
    if (this.#store.hasChangedAfter(this.#store.snapshots.newestVersion())) await live.snapshot();
  }

  snapshot(): Promise<Message.Answer<{ readonly version: number; readonly bytes: Uint8Array }>> {
    return answer(async () => {
      const { seq, parts } = await this.#known().live.newest();
      return { version: seq, bytes: parts[0] };
    });
  }

  heal(): Promise<Message.Answer<null>> {
    return answer(async () => {
      if (this.#store.exists) await this.#upkeep.heal();
      return null;
    });
  }

  override alarm(): Promise<void> {
    return this.#upkeep.run();
  }

  /** The objects of the stored configuration. After a change of configuration or a reset, they are made anew. */
  #known(): Model {
    if (!this.#store.exists) throw unknownModel();
    if (!this.#model?.live.isCurrent) {
      const { config } = this.#store;
      const live = new LiveModel(this.#store, config);
      this.#model = {
        config,
        featurize: once(() => featurizer(config)),
        live,
        admission: new Admission(this.#store, config),
        report: new EncodingReport(config),
        closed: new ClosedWindows(this.#store.impressions, config.window.ms),
      };
    }
    return this.#model;
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

/** Whether an error says that another version of this worker wrote the state. */
function isUnreadable(error: unknown): boolean {
  return error instanceof SnapshotError || (error instanceof Problem && error.status === 409);
}

function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

function unwrapped<T>(given: Message.Answer<T>): T {
  if ("problem" in given) throw new Problem(given.problem.status, given.problem.detail);
  return given.value;
}
