// Serves one model in an isolate: its newest publication decides, and its learner hears of it after the answer.

import { Catalogue } from "../domain/catalogue/catalogue.ts";
import { type CatalogueRecord, decodeRecord, recorded } from "../domain/catalogue/catalogue-record.ts";
import { Answered } from "../domain/decision/answered.ts";
import { decide } from "../domain/decision/decision.ts";
import { type Seen, withLeftOut } from "../domain/decision/left-out.ts";
import type { Served } from "../domain/decision/served.ts";
import { unlearnt } from "../domain/decision/unlearnt-model.ts";
import { homeOf } from "../domain/ids/home.ts";
import { counted, giverOf, type KeyHashes } from "../domain/ids/join-key.ts";
import { shardName } from "../domain/ids/shard.ts";
import { EVERYTHING, isKept, NONE, type Sampling, sampled, UNLEARNT } from "../domain/impression/sampling.ts";
import { featurizer, isEncodable, type ModelConfig } from "../domain/model/model.ts";
import { readablePolicies } from "../domain/model/policies.ts";
import { decodePublication, type Edition, isNewer, type Publication } from "../domain/model/publication.ts";
import { differences } from "../domain/model/reconfiguration.ts";
import type { Environment } from "../environment.ts";
import { PublicationStore } from "../kv/publication-store.ts";
import { MOST_SHARDS } from "../protocol/most.ts";
import { Problem } from "../protocol/problem.ts";
import { learner, Unreachable } from "../rpc/learner-client.ts";
import type { News, Recommendation, RecommendRequest } from "../rpc/message.ts";
import { Outbox } from "./outbox.ts";

/** How long an isolate decides after the learner has confirmed that it holds the newest, in ms. */
const FRESH_MS = 10_000;
/** How long an isolate waits for that, and when it asks again if the learner did not answer, in ms. */
const PATIENCE_MS = 1000;
const RETRY_MS = 1000;
/** How long a decision waits for what its visitor has seen, in ms. */
const SEEN_PATIENCE_MS = 300;
/** An isolate takes newer publications and catalogues from the learner once in each of these intervals of the clock, in ms. */
const CATCH_UP_MS = 1000;

/** Work that goes on after the answer. */
export type Background = Pick<ExecutionContext, "waitUntil">;

interface Held extends Edition {
  readonly catalogue: Catalogue;
  /** The restored model. Null if the learner serves it; then no isolate restores its policies. */
  readonly served: Omit<Served, "catalogue"> | null;
}

/** A model in one isolate: its newest publication, its catalogue, and the impressions that are shown and not registered yet. */
export class ModelCache {
  readonly #model: string;
  /** The impressions of each shard, by its number. */
  readonly #outboxes: Outbox[] = [];
  /** The sampling in force when each shard last took impressions. */
  readonly #samplings: Sampling[] = [];
  readonly #answered = new Answered<Recommendation>();
  /** The shard of decisions without join keys. It changes with each registration, so that each registration has many impressions. */
  #shard = Math.floor(Math.random() * MOST_SHARDS);
  #held?: Held;
  /** When the learner last confirmed that nothing newer was known, and when it was last asked in vain. */
  #confirmedAt = 0;
  #failedAt = 0;
  /** When the last look-up in KV began. Its promise belongs to one request, and no other request may await it. */
  #lookedAt = 0;
  /** The interval in which the learner was last asked for something newer. */
  #renewedIn = 0;

  constructor(model: string) {
    this.#model = model;
  }

  /** @see Edge.recommend */
  async recommend(env: Environment, context: Background, request: RecommendRequest): Promise<Recommendation> {
    if (!this.#held) await this.#look(env);
    await this.#confirm(env, context);
    const held = this.#held;
    if (!held) throw new Problem(503, "neither a snapshot of the model nor its learner can be reached");
    const { served, catalogue, generation } = held;
    // No retry: if the learner decided and its answer was lost, a second call would show another list.
    if (!served) return learner(env, this.#model, (stub) => stub.recommend(request), { retry: false });
    try {
      const { repeat, keys } = request;
      // A newer catalogue may not have the same actions.
      const name = repeat && `${repeat} ${generation} ${catalogue.version}`;
      const seen =
        served.config.leaveOut && !request.unlearnt && keys.backend.length > 0 ? await this.#seen(env, served, request) : undefined;
      const decided = () => this.#decide(env, context, { generation, served: { ...served, catalogue } }, request, seen);
      return this.#answered.once(name, Date.now(), decided);
    } catch (error) {
      // A newer catalogue or configuration may allow the request.
      if (!(error instanceof Problem && (await this.#catchUp(env)))) throw error;
      return this.recommend(env, context, request);
    }
  }

  #decide(
    env: Environment,
    context: Background,
    { served, generation }: { readonly served: Served; readonly generation: number },
    { defer, asker, keys, unlearnt, ...request }: RecommendRequest,
    seen?: readonly Seen[],
  ): Recommendation {
    const now = Date.now();
    const { config, version } = served;
    const asked = seen ? withLeftOut(served, request, seen, now) : request;
    const { shownAt, arm, rows: all, actions } = decide(served, asked, keys, now, generation);
    const { byPage, repeat } = request;
    const shard = this.#shardOf(all[0]?.keys ?? [], config.shards, repeat);
    const inForce = byPage && config.pageShare === 0 ? NONE : (this.#samplings[shard] ?? EVERYTHING)[giverOf(byPage)];
    const sampling = unlearnt ? UNLEARNT[unlearnt] : inForce;
    const rows = sampled(all, sampling).filter(({ id }) => isKept(id, sampling));
    const shown = { generation, rows, unsampled: all.length - rows.length, unlearnt, byPage, asker, deferred: defer };
    if (this.#outboxOf(shard).put(shown, now)) context.waitUntil(this.#registerAll(env, shard));
    const { policy, window } = config;
    return { generation, sampling, modelVersion: version, policy, arm, windowEndsAt: shownAt + window.ms, shard, actions };
  }

  /** The impressions that the visitor of a request has seen. Undefined if the learner does not answer soon: a list matters more than its rule. */
  async #seen(env: Environment, { config }: Pick<Served, "config">, request: RecommendRequest): Promise<readonly Seen[] | undefined> {
    const { keys, byPage, repeat } = request;
    const now = Date.now();
    if (!config.leaveOut?.bought && !config.leaveOut?.shown) return undefined;
    if (Math.abs(now - this.#failedAt) < RETRY_MS) return undefined;
    const own = counted(keys, byPage, config.pageKeys);
    const question = { keys: own.flat(), byPage };
    const name = shardName(this.#model, this.#shardOf(own, config.shards, repeat));
    const asked = learner(env, name, (stub) => stub.seen(question), { retry: false }).catch(() => undefined);
    const known = await Promise.race([asked, scheduler.wait(SEEN_PATIENCE_MS)]);
    if (known) return [...known, ...this.#outboxes.flatMap((outbox) => outbox.seen(question))];
    this.#failedAt = now;
    return undefined;
  }

  /** The shard of a decision: the home of its first join key, so that most conversions find their impressions there. */
  #shardOf([key]: readonly KeyHashes[], shards: number, repeat?: string): number {
    const name = key?.[0] ?? repeat;
    return name === undefined ? this.#shard % shards : homeOf(name, shards);
  }

  #outboxOf(shard: number): Outbox {
    this.#outboxes[shard] ??= new Outbox(this.#held?.served?.config.shards ?? 1);
    return this.#outboxes[shard];
  }

  /** Takes everything that is newer at the learner, after a change that this isolate has passed on. */
  async renew(env: Environment): Promise<void> {
    await this.#renew(env, { always: true });
  }

  /** Returns whether the learner had something newer. */
  async #renew(env: Environment, { always = false, retry = true } = {}): Promise<boolean> {
    const asked = Date.now();
    this.#renewedIn = Math.floor(asked / CATCH_UP_MS);
    if (!this.#held) {
      await this.#hold({ publication: await learner(env, this.#model, (stub) => stub.publication(), { retry }), catalogue: null });
      this.#confirmedAt = asked;
      return true;
    }
    const { generation, version, catalogue } = this.#held;
    const held = { generation, version, catalogue: catalogue.version };
    const news = await learner(env, this.#model, (stub) => stub.newer(held, always), { retry });
    const isNew = news.publication !== null || news.catalogue !== null;
    if (isNew) await this.#hold(news);
    const { newest } = news;
    const { generation: own, catalogue: actions } = this.#held ?? {};
    if (own === newest.generation && (actions?.version ?? -1) >= newest.catalogue) this.#confirmedAt = asked;
    return isNew;
  }

  /**
   * Asks the learner for what is newer, unless it has confirmed lately that nothing is. So a catalogue is at most 10 s older than the
   * learner's while the learner answers. While it does not, the isolate decides by what it holds, and looks into KV in the background.
   */
  async #confirm(env: Environment, context: Background): Promise<void> {
    const now = Date.now();
    // The learner decides by its own catalogue.
    if (this.#held && !this.#held.served) return this.#lookLater(env, context);
    if (Math.abs(now - this.#confirmedAt) < FRESH_MS || Math.abs(now - this.#failedAt) < RETRY_MS) return;
    try {
      const renewed = this.#renew(env, { retry: false });
      renewed.catch(() => {});
      await Promise.race([renewed, scheduler.wait(PATIENCE_MS)]);
      if (this.#confirmedAt === now) return;
    } catch (error) {
      if (isGone(error)) {
        this.#held = undefined;
        throw error;
      }
    }
    this.#failedAt = now;
    this.#lookLater(env, context);
  }

  /** Looks into KV in the background, once in ten seconds. */
  #lookLater(env: Environment, context: Background): void {
    if (Math.abs(Date.now() - this.#lookedAt) >= FRESH_MS) context.waitUntil(this.#lookIntoKv(env));
  }

  /** Looks into KV and, if KV does not have a whole publication, asks the learner. */
  async #look(env: Environment): Promise<void> {
    await this.#lookIntoKv(env);
    if (this.#held) return;
    await this.#renew(env).catch((error) => {
      // A failure on the way leaves the isolate without a model; a refusal says more.
      if (error instanceof Problem && !(error instanceof Unreachable)) throw error;
      this.#failedAt = Date.now();
    });
  }

  /** A failure keeps what is held. */
  async #lookIntoKv(env: Environment): Promise<void> {
    this.#lookedAt = Date.now();
    const store = new PublicationStore(env.EVENTS);
    const [publication, catalogue] = await Promise.all(
      [store.get(this.#model), store.getCatalogue(this.#model)].map((found) => found.catch(() => undefined)),
    );
    await this.#hold({ publication: publication ?? null, catalogue: catalogue ?? null });
  }

  /** Takes newer news from the learner, at most once a second. Returns whether there were any. A failure keeps what is held. */
  async #catchUp(env: Environment): Promise<boolean> {
    if (Math.floor(Date.now() / CATCH_UP_MS) === this.#renewedIn) return false;
    return this.#renew(env, { retry: false }).catch(() => false);
  }

  async #hold(news: Pick<News, "publication" | "catalogue">): Promise<void> {
    try {
      const publication = news.publication && (await decodePublication(news.publication));
      const record = news.catalogue && (await decodeRecord(news.catalogue));
      for (const [given, own] of [
        [news.publication, publication],
        [news.catalogue, record],
      ])
        if (given && !own) this.#outboxOf(0).keptOut();
      const newer = publication && this.#isNewer(publication) ? publication : undefined;
      const found = newer && (await heldOf(newer, this.#held));
      const keeps = found?.served?.unlearnt && this.#held?.served?.unlearnt === undefined && this.#held?.generation === found.generation;
      if (keeps) this.#outboxOf(0).keptOut();
      const next = found && !keeps ? found : this.#held;
      // A newer one may have been taken during the await.
      if (!next || (newer && !this.#isNewer(newer))) return;
      const catalogue = newestOf(next, this.#held, record ?? undefined);
      // A publication waits for the catalogue that it needs.
      if (catalogue.version < (newer?.catalogue ?? 0)) return;
      if (catalogue.columns && catalogue !== this.#held?.catalogue) next.served?.featurize.prepare(catalogue.available, catalogue.columns);
      this.#held = { ...next, catalogue };
    } catch {
      // The bytes are whole, but this version of the code cannot read them.
      this.#outboxOf(0).keptOut();
    }
  }

  #isNewer(publication: Publication): boolean {
    if (!this.#held || isNewer(publication, this.#held)) return true;
    if (isNewer(this.#held, publication)) this.#outboxOf(0).keptOut();
    return false;
  }

  /** Registers the impressions of a shard, and those of other shards that could not be registered before. */
  async #registerAll(env: Environment, shard: number): Promise<void> {
    const now = Date.now();
    const left = this.#outboxes.flatMap((outbox, other) => (other !== shard && outbox.isLeft(now) ? [other] : []));
    await Promise.all([shard, ...left].map((each) => this.#register(env, each)));
  }

  async #register(env: Environment, shard: number): Promise<void> {
    const asked = Date.now();
    let newest: (Edition & { readonly catalogue: number }) | undefined;
    await this.#outboxOf(shard).send(async (batch) => {
      this.#shard++;
      const answer = await learner(env, shardName(this.#model, shard), (stub) => stub.registerShown(batch));
      this.#samplings[shard] = answer.sampling;
      if (answer.newest === null) return;
      newest = { generation: answer.generation, version: answer.newest, catalogue: answer.catalogue ?? 0 };
    });
    if (!newest || !this.#held) return;
    const isBehind = isNewer(newest, this.#held) || newest.catalogue > this.#held.catalogue.version;
    if (isBehind) await this.#catchUp(env);
    else this.#confirmedAt = asked;
  }
}

/** Whether the model was deleted. */
const isGone = (error: unknown): boolean => error instanceof Problem && error.status === 404;

async function heldOf({ config, actions, catalogue: needed, version, generation, parts }: Publication, held?: Held): Promise<Held> {
  const catalogue = new Catalogue(actions ?? [], actions ? needed : 0);
  if (config.serving === "learner") return { generation, version, catalogue, served: null };
  const policies = await readablePolicies(parts);
  if (!policies?.length || !isEncodable(config))
    return { generation, version, catalogue, served: { ...(await unlearnt(config)), version } };
  const featurize = held?.served && hasSameFeatures(config, held.served.config) ? held.served.featurize : featurizer(config);
  return { generation, version, catalogue, served: { config, version, policies, featurize } };
}

/** Whether a featurizer of one configuration serves the other. It has prepared the catalogue. */
function hasSameFeatures(a: ModelConfig, b: ModelConfig): boolean {
  const features = ({ encoder, options, featureNorm }: ModelConfig) => [encoder, options, featureNorm];
  return differences(features(a), features(b)).length === 0;
}

/** The newest catalogue among those of a publication's generation. */
function newestOf({ generation, catalogue }: Held, held: Held | undefined, record: CatalogueRecord | undefined): Catalogue {
  const before = held?.generation === generation ? held.catalogue : undefined;
  const known = record?.generation === generation ? recorded(record, before) : undefined;
  return [catalogue, before, known].reduce((newest: Catalogue, each) => (each && each.version > newest.version ? each : newest), catalogue);
}
