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
import { homeOf } from "../domain/home.ts";
import type { ImpressionRow } from "../domain/impression.ts";
import { giverOf, type KeyHashes } from "../domain/join-key.ts";
import type { LogRow } from "../domain/log-line.ts";
import { checkGrows, configureModel, featurizer, isSame, type ModelConfig, reconfigureModel, renewed } from "../domain/model.ts";
import { pageGoalRefusal } from "../domain/page-rules.ts";
import { type Policies, restorePolicies } from "../domain/policies.ts";
import type { HeldEdition } from "../domain/publication.ts";
import { relearntModel } from "../domain/relearnt-model.ts";
import { sampled } from "../domain/sampling.ts";
import type { Served } from "../domain/served.ts";
import { shardName, shardOf } from "../domain/shard.ts";
import { CLOCK_TOLERANCE_MS } from "../domain/token.ts";
import { shownAtOf } from "../domain/uuid.ts";
import { type Environment, graceMs } from "../environment.ts";
import { EventJournal } from "../kv/event-journal.ts";
import { PublicationStore } from "../kv/publication-store.ts";
import type { Catalogue as Changed, Imported, Rollback } from "../protocol/answers.ts";
import { Problem, unknownModel } from "../protocol/problem.ts";
import type { Action, ActionsPatch, Features, ModelBody, ModelPatch } from "../protocol/schema.ts";
import type { LearnerRpc } from "../rpc/learner.ts";
import { learner } from "../rpc/learner-client.ts";
import type * as Message from "../rpc/message.ts";
import { added, addedTotals, type ModelCounts, type Totals } from "../rpc/model-counts.ts";
import { Admission } from "./admission.ts";
import { Archive } from "./archive.ts";
import { Arrivals, type Earlier } from "./arrivals.ts";
import { ClosedWindows } from "./closed-windows.ts";
import { Coordinator, newestSums, others } from "./coordinator.ts";
import { countsOf, totalsOf } from "./counts.ts";
import { type Describing, description } from "./description.ts";
import { examine } from "./examination.ts";
import { explain } from "./explanation.ts";
import { checkStart, headOf, partOf, spansOf } from "./exporting.ts";
import { follow } from "./following.ts";
import { KeyHome } from "./key-home.ts";
import { isOfNamesake } from "./ledger.ts";
import { LiveModel } from "./live-model.ts";
import { measure } from "./metrics.ts";
import { PageIntake } from "./page-intake.ts";
import { Publisher } from "./publishing.ts";
import { isCountable, pastRowsOf, rowsOf } from "./registering.ts";
import { Relearning, remade } from "./relearning.ts";
import { LearnerStore } from "./store/learner-store.ts";
import { Upkeep } from "./upkeep.ts";

/** The methods of a learner that another one calls. */
type Asked = Pick<LearnerRpc, "remove" | "eraseKey" | "closedCounts" | "totals" | "counts" | "heal" | "logPart">;

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
  readonly #coordinator: Coordinator;
  readonly #keyHome: KeyHome;
  /** Absent without a bucket. */
  readonly #archive?: Archive;
  #model?: Model;
  readonly #relearning: Relearning;
  readonly #pageIntake = new PageIntake();
  readonly #upkeep: Upkeep;

  constructor(ctx: DurableObjectState, env: Environment) {
    super(ctx, env);
    this.#store = new LearnerStore(ctx.storage);
    this.#publisher = new Publisher(this.#store);
    this.#relearning = new Relearning(this.#store);
    this.#coordinator = new Coordinator(env, this.#store, () => this.#known().live);
    this.#keyHome = new KeyHome(env, this.#store, () => this.#known());
    if (env.ARCHIVE) this.#archive = new Archive(env.ARCHIVE, this.#store);
    const exists = () => this.#store.exists;
    this.#upkeep = new Upkeep(ctx.storage, env, exists, () => {
      return {
        ...this.#known(),
        ...{ store: this.#store, publisher: this.#publisher, relearning: this.#relearning, archive: this.#archive },
        ...{ coordinator: this.#coordinator, keyHome: this.#keyHome },
      };
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
      if (stored && config.shards > stored.shards) {
        await this.#coordinator.admit(config);
        if (this.#store.configuration !== configuration) return unwrapped(await this.configure(name, body));
      }
      if (stored) this.#store.reconfigure(config);
      else this.#store.create({ name, config, generation: now, watermark: this.#firstBucket(config), homes: config.shards });
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
      const { shards } = this.#store.config;
      const config = body ? await configureModel({ shards, ...body }) : renewed(this.#store.config);
      checkGrows({ shards }, config);
      this.#store.reset(withVocabulary(config, this.#store.catalogue.actions), Math.max(Date.now(), this.#store.generation + 1));
      this.#upkeep.disarm();
      await this.#upkeep.publishNow();
      return null;
    });
  }

  rollBack(version?: number): Promise<Message.Answer<Rollback>> {
    return answer(async () => {
      const { live } = this.#known();
      const kept = this.#store.editions.versions();
      const to = version ?? kept[1] ?? kept[0];
      if (to === undefined) throw new Problem(409, "there is no kept snapshot to go back to yet");
      await (this.#store.coordinates ? this.#coordinator.rollBack(to) : live.rollBack(to));
      await this.#upkeep.publishNow();
      return { restored: to, modelVersion: this.#store.seq, kept };
    });
  }

  remove(): Promise<Message.Answer<null>> {
    return answer(async () => {
      await this.#upkeep.inTurn(async () => {
        if (!this.#store.exists) throw unknownModel();
        if (this.#store.coordinates) await this.#ofOthers((stub) => stub.remove());
        if (this.#store.shard > 0) return this.#delete();
        await new PublicationStore(this.env.EVENTS).delete(this.#store.name);
        await this.#delete();
      });
      return null;
    });
  }

  async #delete(): Promise<void> {
    await this.ctx.storage.deleteAlarm();
    await this.#store.deleteAll();
    this.#upkeep.disarm();
  }

  /** Asks all shards of the model but this one, in the order of their numbers. A shard that is gone already answers with nothing. */
  #ofOthers<T>(ask: (stub: Asked, shard: number) => Promise<Message.Answer<T>>): Promise<(T | undefined)[]> {
    const { name, config } = this.#store;
    return Promise.all(
      others(config).map((shard) =>
        learner(this.env, shardName(name, shard), (stub) => ask(stub, shard)).catch((error) => {
          if (error instanceof Problem && error.status === 404) return undefined;
          throw error;
        }),
      ),
    );
  }

  /** Start of the oldest bucket that is open in a new model. */
  #firstBucket({ window }: Pick<ModelConfig, "window">): number {
    return bucketAt(Date.now() - window.ms - graceMs(this.env), window.ms);
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
      const { shards } = this.#store.config;
      if (shards > 1)
        throw new Problem(422, `from: a model of ${shards} shards does not learn its log again; import the log into a new model`);
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
    return answer(async () => {
      const describing = await this.#describing();
      return description(this.#store, addedTotals(await this.#ofAll((each) => each.totals())), describing);
    });
  }

  totals(): Promise<Message.Answer<Totals>> {
    return answer(async () => totalsOf(this.#store, this.#known().config, Date.now()));
  }

  counts(): Promise<Message.Answer<ModelCounts>> {
    return answer(async () => countsOf(this.#store, this.#known().config, Date.now()));
  }

  /** Asks all learners of the model, this one first. */
  async #ofAll<T>(ask: (each: Asked, shard: number) => Promise<Message.Answer<T>>): Promise<T[]> {
    const elsewhere = this.#store.coordinates ? this.#ofOthers(ask) : undefined;
    const own = ask(this, 0).then(unwrapped);
    if (!elsewhere) return [await own];
    const [first, others] = await Promise.all([own, elsewhere]);
    return [first, ...others.filter((each) => each !== undefined)];
  }

  async #describing(): Promise<Describing> {
    const { report } = this.#known();
    const { digest } = await this.#digest();
    return { report, digest, relearning: this.#relearning.progress(Date.now()) };
  }

  metrics(): Promise<Message.Answer<Message.Measurement>> {
    return answer(async () => {
      const { config } = this.#known();
      const describing = await this.#describing();
      const policies = describing.digest === null ? undefined : await this.#publicPolicies();
      const all = await this.#ofAll((each) => each.counts());
      const counts = all.length === 1 ? all[0] : added(all);
      const change = policies?.[0].policy.change ?? null;
      return measure(counts, config, { description: description(this.#store, counts, describing), change }, Date.now());
    });
  }

  examination(): Promise<Message.Answer<Message.Examination>> {
    return answer(async () => {
      const { config, live } = this.#known();
      const [{ policy }] = await this.#policies();
      // Of several shards, the coordinator's part of the lists is a fair sample.
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
      const { generation } = this.#store;
      // An isolate may still ask a model that several learners share by now.
      const served = { ...this.#served(await this.#publicPolicies()), version: this.#version };
      const { arm, rows, actions } = decide(served, request, request.keys, shownAt);
      const sampling = admission.sampling(rows.length)[giverOf(request.byPage)];
      const { version: modelVersion } = served;
      live.add(policies, sampled(rows, sampling), { deferred: request.defer });
      await this.#upkeep.arm(shownAt);
      return {
        generation,
        sampling,
        modelVersion,
        policy: config.policy,
        arm,
        windowEndsAt: shownAt + config.window.ms,
        shard: 0,
        actions,
      };
    });
  }

  /** The version of the policies that decide. */
  get #version(): number {
    return this.#store.coordinates ? this.#store.editions.newestVersion() : this.#store.seq;
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
      if (registration.decisions.some((decision) => decision.generation > generation)) {
        throw new Problem(503, "the shard has not heard of the model's new generation yet");
      }
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
      await this.#deliver();
      const isShard = this.#store.shard > 0;
      const newest = isShard ? null : this.#store.offered;
      return { generation, newest, catalogue: isShard ? null : this.#store.catalogueVersion(), sampling: admission.sampling() };
    });
  }

  /** Impressions decided before the log was learnt again have features of another encoder. They are made anew. */
  #earlier(): Earlier {
    const { config, featurize } = this.#known();
    const { catalogue, relearntAt } = this.#store;
    // Versions of a model with several shards are those of its coordinator.
    return { until: config.encoder && config.shards === 1 ? relearntAt : 0, features: (row) => remade(row, featurize(), catalogue) };
  }

  /** The earliest time shown that is still taken. */
  #oldestOpen(now: number): number {
    const { windowMs, graceMs } = this.#upkeep.timing();
    return Math.max(now - windowMs - graceMs, this.#store.watermark, this.#store.retainedSince);
  }

  register(
    items: readonly Message.Shown[],
    { byPage = false, checkOnly = false }: Message.Registering = {},
  ): Promise<Message.Answer<readonly Message.Registered[]>> {
    return answer(async () => {
      const { config, featurize, live, admission } = this.#known();
      if (byPage && !config.local) {
        throw new Problem(403, 'the model takes no impressions with a publishable key: put it with "local": true, or use the secret key');
      }
      const policies = await this.#policies();
      const rows = rowsOf(items, { store: this.#store, config, featurize: featurize(), policies, byPage }, this.#oldestOpen(Date.now()));
      const homes = rows.map((row, place) => items[place].shard ?? this.#homeOf(row));
      if (this.#store.coordinates && homes.some((home) => home > 0)) return this.#registerAt(homes, items, { byPage, checkOnly });
      if (byPage) this.#checkFree(items, rows);
      if (checkOnly) return [];
      const sampling = admission.sampling(rows.length)[giverOf(byPage)];
      const added = live.add(policies, sampled(rows, sampling));
      await this.#upkeep.arm(Math.min(...rows.map(({ id }) => shownAtOf(id))));
      await this.#deliver();
      const { generation, shard } = this.#store;
      return added.map(({ row: { id, action, decision, version, sampling = 0 }, status }) => {
        const probability = decision?.probability;
        const windowEndsAt = shownAtOf(id) + config.window.ms;
        return { id, action, probability, generation, sampling, modelVersion: version, windowEndsAt, shard, status };
      });
    });
  }

  /** The shard of an impression that was decided elsewhere. A caller's own id is always registered in the same one. */
  #homeOf({ id, name, keys: [key] }: ImpressionRow): number {
    const { homes, config } = this.#store;
    return name === null ? homeOf(key?.[0] ?? id, config.shards) : homeOf(name, homes);
  }

  /** Registers impressions in their shards, after each shard has said that it would take them. */
  async #registerAt(
    homes: readonly number[],
    items: readonly Message.Shown[],
    options: Message.Registering,
  ): Promise<readonly Message.Registered[]> {
    const places = Map.groupBy(homes.keys(), (place) => homes[place]);
    const inAll = (checkOnly: boolean) =>
      Promise.all(
        Array.from(places, ([home, of]) => {
          const own = of.map((place) => items[place]);
          if (home > 0) this.#keyHome.checkReached(home);
          const register = (stub: Pick<LearnerRpc, "register">) => stub.register(own, { ...options, checkOnly });
          return home === 0 ? register(this).then(unwrapped) : learner(this.env, shardName(this.#store.name, home), register);
        }),
      );
    if (places.size > 1) await inAll(true);
    const registered = new Array<Message.Registered>(items.length);
    const results = await inAll(options.checkOnly ?? false);
    for (const [i, of] of Array.from(places.values()).entries())
      of.forEach((place, j) => {
        registered[place] = results[i][j];
      });
    return registered;
  }

  /** Delivers the keys of new impressions to their homes. After a failure the alarm tries again. */
  async #deliver(): Promise<void> {
    await this.#keyHome.deliver().catch(() => this.#upkeep.hurry());
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
      const intakes = await this.#keyHome.enter(events);
      if (events.length > 0) {
        await this.#upkeep.arm(Math.min(...events.map((event) => ("impression" in event ? shownAtOf(event.impression) : event.at))));
      }
      return intakes;
    });
  }

  importLog(lines: readonly Message.PastLine[]): Promise<Message.Answer<Imported>> {
    return answer(async () => {
      const { config, featurize, live, admission } = this.#known();
      if (config.shards > 1) throw new Problem(422, "shards: expected 1 during an import; set more afterwards");
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

  startLog(after: number): Promise<Message.Answer<Message.LogStart>> {
    return answer(async () => {
      if (!this.#store.exists) throw unknownModel();
      checkStart(this.#store, after);
      if (this.#store.coordinates) await this.#coordinator.gather({ keep: false });
      const { digest, version } = await this.#digest();
      const spans = spansOf(this.#store, after, version);
      const rows = this.#store.log.page(after, version);
      const parts = await this.#ofAll((each, shard) => each.logPart(spans[shard]));
      return { head: { ...headOf(this.#store, spans[0], parts), exportedAt: Date.now(), digest }, spans, rows };
    });
  }

  logPart(span: Message.LogSpan): Promise<Message.Answer<Message.LogPart>> {
    return answer(async () => {
      if (!this.#store.exists) throw unknownModel();
      return partOf(this.#store, span);
    });
  }

  log({ after, upTo }: Message.LogSpan): Promise<Message.Answer<readonly LogRow[]>> {
    return answer(async () => {
      if (!this.#store.exists) throw unknownModel();
      return this.#store.log.page(after, upTo);
    });
  }

  /** The digest of a version. Null if this version of the worker does not read the state. Its log can be exported all the same. */
  async #digest(): Promise<{ readonly digest: string | null; readonly version: number }> {
    if (this.#store.coordinates) {
      const version = this.#store.editions.newestVersion();
      return { digest: this.#store.shards.markOf(version)?.digest ?? null, version };
    }
    try {
      const [{ policy }] = await this.#known().live.start();
      return { digest: policy.digest(), version: this.#store.seq };
    } catch (error) {
      if (isUnreadable(error)) return { digest: null, version: this.#store.seq };
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

  /** The policies that decide: those of this learner, or those with the sums of all shards. */
  async #publicPolicies(): Promise<Policies> {
    const policies = await this.#policies();
    return this.#store.coordinates ? this.#coordinator.policies() : policies;
  }

  /** The policies by which the model decides now. A shard asks its coordinator. */
  async #decidingPolicies(): Promise<Policies> {
    const { model, shard } = shardOf(this.#store.name);
    if (shard === 0) return this.#publicPolicies();
    const { bytes } = await learner(this.env, model, (stub) => stub.snapshot());
    return restorePolicies([bytes]);
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
      return explain(this.#store, this.#served(await this.#decidingPolicies()), id, Date.now());
    });
  }

  activate(id: string): Promise<Message.Answer<"activated" | "duplicate" | null>> {
    return answer(async () => {
      if (!this.#store.exists) return null;
      const policies = await this.#policies();
      const status = this.#activated(policies, id);
      if (status === "activated") await this.#follow([id]);
      return status;
    });
  }

  #activated(policies: Policies, id: string): "activated" | "duplicate" | null {
    const { config, live } = this.#known();
    const impression = this.#store.impressions.find(id);
    if (!impression || impression.state === "void") return null;
    if (impression.state === "live") return "duplicate";
    if (shownAtOf(id) < Date.now() - config.deferral.ms) return null;
    live.activate(policies, impression);
    return "activated";
  }

  /** Sets the alarm for impressions with something new, and delivers their keys. */
  async #follow(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    await this.#upkeep.arm(Math.min(...ids.map(shownAtOf)));
    await this.#deliver();
  }

  report({ seen, reached }: Message.PageReport): Promise<Message.Answer<Message.PageResults>> {
    return answer(async () => {
      if (!this.#store.exists) return { seen: seen.map(() => null), reached: reached.map(() => ({ status: "unknown" as const })) };
      this.#pageIntake.take(seen.length + reached.length, Date.now());
      const policies = seen.length > 0 ? await this.#policies() : undefined;
      // A deferred impression is shown before it converts.
      const activated = seen.map((id) => policies && this.#activated(policies, id));
      const { config, live } = this.#known();
      const refusals = reached.map(({ goal }) => pageGoalRefusal(goal, config.goals));
      const taken = live.enter(reached.filter((_, place) => refusals[place] === undefined)).values();
      const intakes = refusals.map((detail) => {
        return detail === undefined ? (taken.next().value as Message.Intake) : { status: "refused" as const, detail };
      });
      await this.#follow([...seen.filter((_, place) => activated[place] === "activated"), ...reached.map(({ impression }) => impression)]);
      return { seen: activated.map((status) => status ?? null), reached: intakes };
    });
  }

  erase(id: string, generation: number): Promise<Message.Answer<boolean>> {
    return answer(async () => {
      if (!this.#store.exists || isOfNamesake(this.#store, id, generation)) return false;
      if (shownAtOf(id) < this.#store.retainedSince) return ((await this.#archive?.erase([id]))?.size ?? 0) > 0;
      await this.#erase([id]);
      await this.#archive?.erase([id]);
      await this.#deliver();
      return true;
    });
  }

  eraseKey(hashes: KeyHashes): Promise<Message.Answer<number>> {
    return answer(async () => {
      this.#known();
      const erased = await this.#erase(this.#store.impressions.withKey(hashes));
      this.#store.transact(() => {
        this.#store.conversions.eraseKey(hashes);
        this.#store.links.eraseKey(hashes);
      });
      await this.#deliver();
      const elsewhere = this.#store.coordinates ? await this.#ofOthers((stub) => stub.eraseKey(hashes)) : [];
      const archived = (await this.#archive?.eraseKey(hashes)) ?? new Set();
      const here = erased + Array.from(archived).filter((id) => shownAtOf(id) < this.#store.retainedSince).length;
      return elsewhere.reduce((sum: number, count = 0) => sum + count, here);
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
      const { featurize } = this.#known();
      const [{ policy }] = await this.#publicPolicies();
      const { actions, size } = this.#store.catalogue;
      if (size === 0 || policy.hasDomain) return [];
      const points = featurize().matrix(context, actions);
      const ids = actions.map(({ id }) => id);
      const closed = await this.#ofAll((each) => each.closedCounts(context, ids));
      return beliefsOf(policy, { actions, points }).map((belief, i) => {
        const total = (name: keyof Message.ClosedCount) => closed.reduce((sum, counts) => sum + counts[i][name], 0);
        return { id: ids[i], belief, closed: { impressions: total("impressions"), converted: total("converted") } };
      });
    });
  }

  closedCounts(context: Features | undefined, actions: readonly string[]): Promise<Message.Answer<readonly Message.ClosedCount[]>> {
    return answer(async () => {
      const { closed } = this.#known();
      const now = Date.now();
      return actions.map((id) => closed.count(context, id, now));
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
    const { editions, coordinates } = this.#store;
    if (this.#store.hasChangedAfter(editions.newestVersion()))
      await (coordinates ? this.#coordinator.gather({ keep: true }) : live.snapshot());
  }

  snapshot(): Promise<Message.Answer<{ readonly version: number; readonly bytes: Uint8Array }>> {
    return answer(async () => {
      this.#known();
      if (this.#store.coordinates) {
        const policies = await this.#coordinator.policies();
        return { version: this.#store.editions.newestVersion(), bytes: policies[0].snapshot() };
      }
      await this.#policies();
      const { seq, parts } = await this.#known().live.newest();
      return { version: seq, bytes: parts[0] };
    });
  }

  follow(name: string, order: Message.Order): Promise<Message.Answer<Message.Sums>> {
    return answer(async () => {
      await follow(this.#store, name, order, this.#firstBucket(order.config), () => this.#known().live);
      await this.#policies();
      const { seq, parts } = await newestSums(this.#store, this.#known().live, order.keep);
      this.#store.transact(() => this.#store.setPublished(this.#store.seq, Date.now()));
      return { seq, parts: seq === order.held ? null : parts, used: this.#store.used };
    });
  }

  keeps(version: number): Promise<Message.Answer<boolean>> {
    return answer(async () => this.#store.exists && this.#store.snapshots.kept(version) !== undefined);
  }

  gather(): Promise<Message.Answer<null>> {
    return answer(async () => {
      if (!this.#store.exists || !this.#store.coordinates) throw unknownModel();
      await this.#upkeep.publishNow();
      return null;
    });
  }

  link(notes: readonly Message.Note[], shard: number): Promise<Message.Answer<null>> {
    return answer(async () => {
      this.#known();
      await this.#keyHome.take(notes, shard);
      return null;
    });
  }

  knows(key: string): Promise<Message.Answer<boolean>> {
    return answer(async () => this.#store.exists && this.#keyHome.knows(key));
  }

  heal(): Promise<Message.Answer<null>> {
    return answer(async () => {
      if (!this.#store.exists) return null;
      await this.#upkeep.heal();
      if (this.#store.coordinates) await this.#ofOthers((stub) => stub.heal());
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
