import { DurableObject } from "cloudflare:workers";
import type { LogRow } from "../domain/archive/log-line.ts";
import { beliefsOf } from "../domain/catalogue/belief.ts";
import { changeBetween, checkActions } from "../domain/catalogue/catalogue.ts";
import { decide } from "../domain/catalogue/decision.ts";
import { pageGoalRefusal } from "../domain/catalogue/page-rules.ts";
import type { ConversionEvent, KeyedEvent } from "../domain/conversion/event.ts";
import { giverOf, type KeyHashes } from "../domain/ids/join-key.ts";
import { shardName } from "../domain/ids/shard.ts";
import { shownAtOf } from "../domain/ids/uuid.ts";
import { bucketAt } from "../domain/impression/bucket.ts";
import { sampled } from "../domain/impression/sampling.ts";
import { checkCandidates, checkNumbers } from "../domain/model/capacity.ts";
import { withVocabulary } from "../domain/model/encoding.ts";
import { checkGrows, configureModel, isSame, type ModelConfig, reconfigureModel, renewed } from "../domain/model/model.ts";
import type { Policies } from "../domain/model/policies.ts";
import type { HeldEdition } from "../domain/model/publication.ts";
import { relearntModel } from "../domain/model/relearnt-model.ts";
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
import { Archive } from "./archive.ts";
import { Coordinator, newestSums, others } from "./coordinator.ts";
import { countsOf, totalsOf } from "./counts.ts";
import { type Describing, description } from "./description.ts";
import { examine } from "./examination.ts";
import { explain } from "./explanation.ts";
import { checkStart, headOf, partOf, spansOf } from "./exporting.ts";
import { follow } from "./following.ts";
import { KeyHome } from "./key-home.ts";
import { isOfNamesake } from "./ledger.ts";
import { measure } from "./metrics.ts";
import { PageIntake } from "./page-intake.ts";
import { Publisher } from "./publishing.ts";
import { pastRowsOf } from "./registering.ts";
import { Registrar } from "./registrar.ts";
import { Relearning } from "./relearning.ts";
import { RunningModel } from "./running-model.ts";
import { LearnerStore } from "./store/learner-store.ts";
import { Upkeep } from "./upkeep.ts";

/** Statuses of a page's goal that changed something. */
const NEW: readonly Message.Intake["status"][] = ["applied", "orphan"];

/** The methods of a learner that another one calls. */
type Asked = Pick<LearnerRpc, "remove" | "eraseKey" | "closedCounts" | "totals" | "counts" | "heal" | "logPart">;

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
  readonly #running: RunningModel;
  readonly #registrar: Registrar;
  readonly #relearning: Relearning;
  readonly #pageIntake = new PageIntake();
  readonly #upkeep: Upkeep;

  constructor(ctx: DurableObjectState, env: Environment) {
    super(ctx, env);
    this.#store = new LearnerStore(ctx.storage);
    this.#publisher = new Publisher(this.#store);
    this.#relearning = new Relearning(this.#store);
    this.#coordinator = new Coordinator(env, this.#store, () => this.#running.known().live);
    this.#running = new RunningModel(env, this.#store, this.#coordinator, this.#relearning, () => this.#upkeep.hurry());
    this.#keyHome = new KeyHome(env, this.#store, () => this.#running.known());
    if (env.ARCHIVE) this.#archive = new Archive(env.ARCHIVE, this.#store);
    const exists = () => this.#store.exists;
    this.#upkeep = new Upkeep(ctx.storage, env, exists, () => {
      return {
        ...this.#running.known(),
        ...{ store: this.#store, publisher: this.#publisher, relearning: this.#relearning, archive: this.#archive },
        ...{ coordinator: this.#coordinator, keyHome: this.#keyHome },
      };
    });
    this.#registrar = new Registrar(env, this.#store, this.#running, this.#keyHome, this.#upkeep);
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
        await this.#coordinator.admit(config, configuration);
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
      const { live } = this.#running.known();
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

  relearn(body: ModelPatch | null): Promise<Message.Answer<null>> {
    return answer(async () => {
      if (!this.#store.exists) throw unknownModel();
      if (!body) await this.#running.recover();
      else {
        await this.#running.relearn(await relearntModel(body, this.#store.config));
        if (this.#store.coordinates) await this.#coordinator.announce();
      }
      return null;
    });
  }

  describe(): Promise<Message.Answer<Message.Description>> {
    return answer(async () => {
      const describing = await this.#describing();
      return description(this.#store, addedTotals(await this.#ofAll((each) => each.totals())), describing);
    });
  }

  totals(): Promise<Message.Answer<Totals>> {
    return answer(async () => totalsOf(this.#store, this.#running.known().config, this.#relearning, Date.now()));
  }

  counts(): Promise<Message.Answer<ModelCounts>> {
    return answer(async () => countsOf(this.#store, this.#running.known().config, this.#relearning, Date.now()));
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
    const { report } = this.#running.known();
    const { digest } = await this.#running.digest();
    return { report, digest };
  }

  metrics(): Promise<Message.Answer<Message.Measurement>> {
    return answer(async () => {
      const { config } = this.#running.known();
      const describing = await this.#describing();
      const policies = describing.digest === null ? undefined : await this.#running.publicPolicies();
      const all = await this.#ofAll((each) => each.counts());
      const counts = all.length === 1 ? all[0] : added(all);
      const change = policies?.[0].policy.change ?? null;
      return measure(counts, config, { description: description(this.#store, counts, describing), change }, Date.now());
    });
  }

  examination(): Promise<Message.Answer<Message.Examination>> {
    return answer(async () => {
      const { config, live } = this.#running.known();
      const [{ policy }] = await this.#running.policies();
      // The coordinator's part of the lists is a fair sample of all shards.
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
      this.#running.known();
      return this.#replaceActions(this.#store.catalogue.with(patch));
    });
  }

  async #replaceActions(actions: readonly Action[]): Promise<Changed> {
    const { config, featurize } = this.#running.known();
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
      const { config, live, admission } = this.#running.known();
      const policies = await this.#running.policies();
      if (request.defer) admission.checkDeferred(request.limit, request.byPage);
      // A clock that was set back must not reach into closed buckets, nor before a reset.
      const shownAt = Math.max(Date.now(), this.#store.watermark, this.#store.retainedSince);
      const { generation } = this.#store;
      // An isolate may still ask a model that several learners share by now.
      const served = { ...this.#running.served(await this.#running.publicPolicies()), version: this.#running.version };
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

  registerShown(registration: Message.Registration): Promise<Message.Answer<Message.Registry>> {
    return answer(() => this.#registrar.registerShown(registration));
  }

  register(items: readonly Message.Shown[], options: Message.Registering = {}): Promise<Message.Answer<readonly Message.Registered[]>> {
    return answer(() => this.#registrar.register(items, options));
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
      const { config, featurize, live, admission } = this.#running.known();
      if (config.shards > 1) throw new Problem(422, "shards: expected 1 during an import; set more afterwards");
      const policies = await this.#running.policies();
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
      const { digest, version } = await this.#running.digest();
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

  impression(id: string): Promise<Message.Answer<Message.Explanation | null>> {
    return answer(async () => {
      if (!this.#store.exists) return null;
      return explain(this.#store, this.#running.served(await this.#running.decidingPolicies()), id, Date.now());
    });
  }

  activate(id: string): Promise<Message.Answer<Message.Activation | null>> {
    return answer(async () => {
      if (!this.#store.exists) return null;
      const policies = await this.#running.policies();
      const status = this.#activated(policies, id);
      if (status === "activated") await this.#follow([id]);
      return status;
    });
  }

  #activated(policies: Policies, id: string): Message.Activation | null {
    const { config, live } = this.#running.known();
    const impression = this.#store.impressions.find(id);
    if (impression?.state === "live") return "duplicate";
    if (impression?.state === "void" || shownAtOf(id) < Date.now() - config.deferral.ms) return null;
    if (impression) {
      live.activate(policies, impression);
      return "activated";
    }
    if (!this.#mayBeRegistered(id)) return null;
    this.#store.transact(() => this.#store.impressions.noteShown(id));
    return "accepted";
  }

  /** Whether an unknown impression belongs to this generation, and its bucket is open. */
  #mayBeRegistered(id: string): boolean {
    const { generation, watermark, retainedSince } = this.#store;
    return shownAtOf(id) >= Math.max(generation, watermark, retainedSince);
  }

  /** Sets the alarm for impressions with something new, and delivers their keys. */
  async #follow(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    await this.#upkeep.arm(Math.min(...ids.map(shownAtOf)));
    await this.#upkeep.deliver();
  }

  report({ seen, reached }: Message.PageReport): Promise<Message.Answer<Message.PageResults>> {
    return answer(async () => {
      if (!this.#store.exists) return { seen: seen.map(() => null), reached: reached.map(() => ({ status: "unknown" as const })) };
      this.#pageIntake.check([...seen, ...reached.map(({ impression }) => impression)], Date.now());
      const policies = seen.length > 0 ? await this.#running.policies() : undefined;
      // A deferred impression is shown before it converts.
      const activated = seen.map((id) => policies && this.#activated(policies, id));
      const { config, live } = this.#running.known();
      const refusals = reached.map(({ goal }) => pageGoalRefusal(goal, config.goals));
      const taken = live.enter(reached.filter((_, place) => refusals[place] === undefined)).values();
      const intakes = refusals.map((detail) => {
        return detail === undefined ? (taken.next().value as Message.Intake) : { status: "refused" as const, detail };
      });
      for (const [place, id] of seen.entries()) this.#pageIntake.count(id, activated[place] === "activated");
      for (const [place, { status }] of intakes.entries()) this.#pageIntake.count(reached[place].impression, NEW.includes(status));
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
      await this.#upkeep.deliver();
      return true;
    });
  }

  eraseKey(hashes: KeyHashes): Promise<Message.Answer<number>> {
    return answer(async () => {
      this.#running.known();
      const erased = await this.#erase(this.#store.impressions.withKey(hashes));
      this.#store.transact(() => {
        this.#store.conversions.eraseKey(hashes);
        this.#store.links.eraseKey(hashes);
      });
      await this.#upkeep.deliver();
      const elsewhere = this.#store.coordinates ? await this.#ofOthers((stub) => stub.eraseKey(hashes)) : [];
      const archived = (await this.#archive?.eraseKey(hashes)) ?? new Set();
      const here = erased + Array.from(archived).filter((id) => shownAtOf(id) < this.#store.retainedSince).length;
      return elsewhere.reduce((sum: number, count = 0) => sum + count, here);
    });
  }

  async #erase(ids: readonly string[]): Promise<number> {
    const { live } = this.#running.known();
    await this.#running.policies();
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
      const { featurize } = this.#running.known();
      const [{ policy }] = await this.#running.publicPolicies();
      const { actions, size } = this.#store.catalogue;
      if (size === 0 || policy.hasDomain) return [];
      const points = featurize().points(context, actions);
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
      const { closed } = this.#running.known();
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
    await this.#running.policies();
    const { live } = this.#running.known();
    const { editions, coordinates } = this.#store;
    if (this.#store.hasChangedAfter(editions.newestVersion()))
      await (coordinates ? this.#coordinator.gather({ keep: true }) : live.snapshot());
  }

  snapshot(): Promise<Message.Answer<{ readonly version: number; readonly bytes: Uint8Array }>> {
    return answer(async () => {
      this.#running.known();
      if (this.#store.coordinates) {
        const policies = await this.#coordinator.policies();
        return { version: this.#store.editions.newestVersion(), bytes: policies[0].snapshot() };
      }
      await this.#running.policies();
      const { seq, parts } = await this.#running.known().live.newest();
      return { version: seq, bytes: parts[0] };
    });
  }

  follow(name: string, order: Message.Order): Promise<Message.Answer<Message.Sums>> {
    return answer(async () => {
      const [store, relearning] = [this.#store, this.#relearning];
      try {
        await follow({ store, relearning, live: () => this.#running.known().live }, name, order, this.#firstBucket(order.config));
      } finally {
        if (relearning.isRunning && !relearning.isCaughtUp) await this.#upkeep.hurry();
      }
      const common = { used: store.used, caughtUp: relearning.isCaughtUp };
      const isUnreadable = (await this.#running.digest()).digest === null;
      if (isUnreadable && order.relearning && order.held >= 0) return { ...common, seq: order.held, parts: null };
      await this.#running.policies();
      const { seq, parts } = await newestSums(store, this.#running.known().live, order.keep);
      store.transact(() => store.setPublished(store.seq, Date.now()));
      return { ...common, seq, parts: seq === order.held ? null : parts };
    });
  }

  keeps(version: number): Promise<Message.Answer<boolean>> {
    return answer(async () => this.#store.exists && this.#store.snapshots.kept(version) !== undefined);
  }

  gather(shard: number): Promise<Message.Answer<boolean>> {
    return answer(async () => {
      if (!this.#store.exists) throw unknownModel();
      // A new shard may be ahead of the configuration.
      if (this.#store.coordinates) await this.#upkeep.publishNow();
      return this.#store.config.shards > shard;
    });
  }

  link(notes: readonly Message.Note[], shard: number): Promise<Message.Answer<null>> {
    return answer(async () => {
      this.#running.known();
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
