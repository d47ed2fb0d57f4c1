import { DurableObject } from "cloudflare:workers";
import type { Policy } from "afterclick";
import { bucketAt, closesAt, forgottenBefore, type Timing } from "./bucket.ts";
import { Catalogue } from "./catalogue.ts";
import { closeDue, nextDue } from "./closing.ts";
import { type Environment, graceMs } from "./environment.ts";
import { type ConversionEvent, EventStore } from "./event-store.ts";
import { type ImpressionRow, LearnerStore } from "./learner-store.ts";
import type * as Message from "./message.ts";
import { acceptable, asProblem, type Featurizer, featurizer, isSameConfig, type ModelConfig, modelConfig, startModel } from "./model.ts";
import { Problem } from "./problem.ts";
import { Replica } from "./replica.ts";
import type { Action, Features, ModelBody, RecommendationsBody } from "./schema.ts";
import { CLOCK_TOLERANCE_MS, shownAtOf, uuidAt } from "./token.ts";

/** After a closing that failed. */
const RETRY_MS = 30_000;

interface Model {
  readonly name: string;
  readonly config: ModelConfig;
  readonly featurize: Featurizer;
  readonly replica: Replica;
}

/**
 * One model: its state, and the single writer of it.
 * From the first read of a call to its last change nothing waits, so calls do not interleave.
 */
export class Learner extends DurableObject<Environment> {
  readonly #store: LearnerStore;
  #model?: Model;
  #catalogue?: Catalogue;
  #alarmAt?: number;

  constructor(ctx: DurableObjectState, env: Environment) {
    super(ctx, env);
    this.#store = new LearnerStore(ctx.storage);
    void ctx.blockConcurrencyWhile(async () => {
      if (this.#store.exists) await this.#arm().catch(report);
    });
  }

  /** Creates the model; again with the same configuration changes nothing, with another one is a conflict. */
  configure(name: string, body: ModelBody): Promise<Message.Answer<{ readonly created: boolean }>> {
    return answer(async () => {
      const config = modelConfig(body);
      await startModel(config).catch((error) => Promise.reject(asProblem(error)));
      if (!this.#store.exists) {
        this.#store.create(name, config, bucketAt(Date.now() - config.window.ms - graceMs(this.env), config.window.ms));
        return { created: true };
      }
      if (!isSameConfig(this.#known().config, config)) {
        throw new Problem(409, `model ${name} exists with another configuration, which what it has learnt is bound to`);
      }
      return { created: false };
    });
  }

  /** Configuration, counts and digest. */
  describe(): Promise<Message.Answer<Message.Description>> {
    return answer(async () => {
      const { name, config, replica } = this.#known();
      const recommender = await replica.start();
      const { converted, impressions, ...events } = this.#store.counters();
      const open = this.#store.shownSince(Date.now() - config.window.ms);
      const pending = open.impressions - open.converted;
      const settled = impressions - open.impressions;
      return {
        model: name,
        ...config,
        counts: { impressions, pending, converted, expired: impressions - pending - converted, ...events },
        actions: this.#actions.size,
        digest: recommender.digest(),
        modelVersion: this.#store.seq,
        // Only of impressions whose window has passed: which of the younger ones will still convert is not known.
        conversionRate: settled > 0 ? (converted - open.converted) / settled : null,
      };
    });
  }

  /** Replaces the catalogue. */
  setActions(actions: readonly Action[]): Promise<Message.Answer<{ readonly actions: number }>> {
    return answer(async () => {
      const { featurize } = this.#known();
      const catalogue = new Catalogue(actions);
      for (const action of actions) featurize(undefined, action);
      this.#store.transact(() => this.#store.replaceActions(actions));
      this.#catalogue = catalogue;
      return { actions: actions.length };
    });
  }

  /** Decides, and registers each shown action as an impression. */
  recommend(request: RecommendationsBody): Promise<Message.Answer<Message.Recommendation>> {
    return answer(async () => {
      const { config, replica } = this.#known();
      const { policy } = await replica.start();
      const candidates = policy.hasDomain ? undefined : this.#candidates(request);
      if (!candidates && (request.context ?? request.actions ?? request.exclude[0]) !== undefined) {
        throw new Problem(422, `expected a limit only, as ${config.policy} chooses in its own domain`);
      }
      // A clock that was set back does not reach into closed buckets.
      const shownAt = Math.max(Date.now(), this.#store.watermark);
      const limit = Math.min(request.limit, candidates?.length ?? request.limit);
      const ids = Array.from({ length: limit }, () => uuidAt(shownAt, crypto.getRandomValues(new Uint8Array(10))));
      // The draw belongs to the first place's id: the decision can be made again.
      const draw = { round: policy.impressions + 1, now: shownAt, decision: ids[0] };
      const choices = acceptable(() => policy.choose({ ...draw, candidates, limit }));
      const modelVersion = this.#store.seq;
      const windowEndsAt = shownAt + config.window.ms;
      replica.add(
        policy,
        choices.map(({ index, id: action, features, ...scores }, place) => ({
          id: ids[place],
          key: null,
          action,
          features: policy.features(features ?? candidates?.[index].features),
          version: modelVersion,
          decision: { ...scores, place, candidates: candidates?.length ?? null },
        })),
      );
      await this.#arm(shownAt);
      const actions = choices.map(({ index: _, id: action, features, ...scores }, place) => ({
        id: ids[place],
        action,
        ...scores,
        ...(features && { features: Array.from(features) }),
      }));
      return { modelVersion, policy: config.policy, windowEndsAt, actions };
    });
  }

  #candidates({ context, actions, exclude }: RecommendationsBody): { readonly id: string; readonly features: ArrayLike<number> }[] {
    const { featurize } = this.#known();
    return this.#actions.candidates(actions, exclude).map((action) => ({ id: action.id, features: featurize(context, action) }));
  }

  /** Registers impressions decided elsewhere: all of them or, if one is refused, none. */
  register(items: readonly Message.Shown[]): Promise<Message.Answer<readonly Message.Registered[]>> {
    return answer(async () => {
      const { config, replica } = this.#known();
      const { policy } = await replica.start();
      const rows = items.map((item, index) => placed(index, () => this.#shown(item, policy)));
      const added = replica.add(policy, rows);
      await this.#arm(Math.min(...rows.map(({ id }) => shownAtOf(id))));
      return added.map(({ row: { id, action, decision, version }, status }) => {
        const probability = decision?.probability;
        const windowEndsAt = shownAtOf(id) + config.window.ms;
        return { id, action, ...(probability !== undefined && { probability }), modelVersion: version, windowEndsAt, status };
      });
    });
  }

  #shown({ id, key, context, action }: Message.Shown, policy: Policy): ImpressionRow {
    const { config, featurize } = this.#known();
    const now = Date.now();
    const shownAt = shownAtOf(id);
    if (shownAt > now + CLOCK_TOLERANCE_MS) throw new Problem(422, "shownAt: lies in the future");
    const oldest = Math.max(now - config.window.ms - graceMs(this.env), this.#store.watermark);
    // What is known already stays the same, whatever its age.
    if (shownAt < oldest && !this.#store.registered(id, key)) {
      throw new Problem(422, "shownAt: its window has passed, and the grace after it");
    }
    const shown = this.#actions.find(action);
    const features = acceptable(() => policy.features(featurize(context, shown)));
    return { id, key, action: shown.id, features, version: this.#store.seq, decision: null };
  }

  /** Takes conversions, each with what became of it. Needs no policy in memory: what is stored is learnt at the latest by the next start. */
  ingest(events: readonly ConversionEvent[]): Promise<Message.Answer<readonly Message.Intake[]>> {
    return answer(async () => {
      if (!this.#store.exists) return events.map(() => ({ status: "unknown" as const }));
      const intakes = this.#known().replica.enter(events);
      if (events.length > 0) await this.#arm(Math.min(...events.map(({ impression }) => shownAtOf(impression))));
      return intakes;
    });
  }

  /** An impression, how it was decided, and what the model thinks of it now; null if it is not known. */
  impression(id: string): Promise<Message.Answer<Message.Explanation | null>> {
    return answer(async () => {
      if (!this.#store.exists) return null;
      const { name, config, replica } = this.#known();
      const { policy } = await replica.start();
      const impression = this.#store.impression(id);
      if (!impression) return null;
      const shownAt = shownAtOf(id);
      const now = Math.max(Date.now(), shownAt);
      const windowEndsAt = shownAt + config.window.ms;
      return {
        model: name,
        status: impression.reward !== null ? "converted" : now > windowEndsAt ? "expired" : "pending",
        action: impression.action,
        shownAt,
        windowEndsAt,
        modelVersion: impression.version,
        decision: impression.decision,
        conversions: this.#store.conversions(id).map(({ goal, reward, at, status }) => ({ goal, reward, at, status })),
        reward: impression.reward,
        now: opinion(policy, impression.features, now),
      };
    });
  }

  /** Mean and width of each action of the catalogue in a context, as the model thinks now. */
  estimates(context?: Features): Promise<Message.Answer<readonly Message.Estimate[]>> {
    return answer(async () => {
      const { featurize, replica } = this.#known();
      const { policy } = await replica.start();
      const candidates = this.#actions.values().map((action) => ({ id: action.id, features: featurize(context, action) }));
      if (candidates.length === 0 || policy.hasDomain) return [];
      const request = { candidates, round: policy.impressions + 1, now: Date.now(), limit: candidates.length };
      const choices = acceptable(() => policy.choose(request));
      return choices.sort((a, b) => a.index - b.index).map(({ id, mean, width }) => ({ id, mean, width }));
    });
  }

  /** Closes and forgets what is due. It never throws: an alarm that fails six times would not come again. */
  override async alarm(): Promise<void> {
    this.#alarmAt = undefined;
    let notBefore = 0;
    try {
      const { name, replica } = this.#known();
      const timing = this.#timing();
      const journal = new EventStore(this.env.EVENTS, name, timing);
      await closeDue(this.#store, journal, timing, (events) => replica.enter(events));
      const before = Math.min(this.#store.watermark, forgottenBefore(Date.now(), timing));
      if ((this.#store.oldestSince(0) ?? before) < before) await replica.forget(before);
    } catch (error) {
      report(error);
      notBefore = Date.now() + RETRY_MS;
    }
    await this.#arm(undefined, notBefore).catch(report);
  }

  /** Sets the alarm for what is due next; given a time shown, only if that could move it. */
  async #arm(shownAt?: number, notBefore = 0): Promise<void> {
    const timing = this.#timing();
    const overdue = this.#alarmAt !== undefined && this.#alarmAt < Date.now() - RETRY_MS;
    if (shownAt !== undefined && this.#alarmAt !== undefined && !overdue && this.#alarmAt <= closesAt(shownAt, timing)) return;
    const due = nextDue(this.#store, timing);
    if (due === undefined) return;
    this.#alarmAt = Math.max(notBefore, due);
    await this.ctx.storage.setAlarm(this.#alarmAt);
  }

  #timing(): Timing {
    return { windowMs: this.#known().config.window.ms, graceMs: graceMs(this.env) };
  }

  #known(): Model {
    if (!this.#model) {
      if (!this.#store.exists) throw new Problem(404, "there is no such model");
      const { name, config } = this.#store.model;
      this.#model = { name, config, featurize: featurizer(config), replica: new Replica(this.#store, config) };
    }
    return this.#model;
  }

  get #actions(): Catalogue {
    this.#catalogue ??= new Catalogue(this.#store.actions());
    return this.#catalogue;
  }
}

/** What a policy thinks of a point now; null in a domain of its own, where it may not say. */
function opinion(policy: Policy, features: Float64Array, now: number): Message.Explanation["now"] {
  if (policy.hasDomain) return null;
  const [{ mean, width }] = policy.choose({ candidates: [{ features }], round: policy.impressions + 1, now });
  return { mean, width };
}

// The name only: a message may hold what a caller sent.
function report(error: unknown): void {
  console.error("closing failed", error instanceof Error ? error.name : typeof error);
}

async function answer<T>(work: () => Promise<T>): Promise<Message.Answer<T>> {
  try {
    return { value: await work() };
  } catch (error) {
    if (error instanceof Problem) return { problem: { status: error.status, detail: error.message } };
    throw error;
  }
}

/** Names the item of a batch that was refused. */
function placed<T>(index: number, check: () => T): T {
  try {
    return check();
  } catch (error) {
    throw error instanceof Problem ? new Problem(error.status, `[${index}]: ${error.message}`) : error;
  }
}
