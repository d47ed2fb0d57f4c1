import { Catalogue } from "../domain/catalogue.ts";
import { type DecisionRequest, decide, type Served } from "../domain/decision.ts";
import { giverOf, type RequestKeys } from "../domain/join-key.ts";
import { featurizer } from "../domain/model.ts";
import { restorePolicies } from "../domain/policies.ts";
import { decodePublication, type Edition, isNewer, type Publication } from "../domain/publication.ts";
import { EVERYTHING, isKept, NONE, sampled } from "../domain/sampling.ts";
import type { Environment } from "../environment.ts";
import { PublicationStore } from "../kv/publication-store.ts";
import { Problem } from "../protocol/problem.ts";
import type { Recommendation } from "../rpc/message.ts";
import { learner } from "./learner-client.ts";
import { Outbox } from "./outbox.ts";

/** How long after the learner's or KV's last word an isolate looks for a newer publication in KV, in ms. */
const FRESH_MS = 10_000;
/** An isolate takes one newer publication from the learner in each of these intervals of the clock, in ms. */
const CATCH_UP_MS = 1000;

export type EdgeRequest = DecisionRequest & { readonly defer: boolean; readonly byPage: boolean };

interface Held extends Edition {
  /** The restored model. Null if the learner serves it; then no isolate restores its policies. */
  readonly served: Served | null;
}

/** A model in one isolate: its newest publication, and the impressions that are shown and not registered yet. */
export class ModelCache {
  readonly #model: string;
  readonly #outbox = new Outbox();
  /** The sampling in force when the learner last took impressions. */
  #sampling = EVERYTHING;
  #held?: Held;
  #checkedAt = 0;
  /** When the running look-up began. Its promise belongs to one request, and no other request may await it. */
  #lookingSince = 0;
  #caughtUpIn = 0;

  constructor(model: string) {
    this.#model = model;
  }

  /** @see Edge.recommend */
  async recommend(
    env: Environment,
    context: Pick<ExecutionContext, "waitUntil">,
    request: EdgeRequest,
    keys: RequestKeys,
  ): Promise<Recommendation> {
    const now = Date.now();
    if (!this.#held) await this.#look(env);
    else if (Math.abs(now - this.#checkedAt) >= FRESH_MS && Math.abs(now - this.#lookingSince) >= FRESH_MS) {
      this.#lookingSince = now;
      context.waitUntil(this.#look(env).catch(() => {}));
    }
    const held = this.#held;
    if (!held) throw new Problem(503, "neither a snapshot of the model nor its learner can be reached");
    const { served } = held;
    // No retry: if the learner decided and its answer was lost, a second call would show another list.
    if (!served) return learner(env, this.#model, (stub) => stub.recommend({ ...request, keys }), { retry: false });
    try {
      return this.#decide(env, context, { ...held, served }, request, keys);
    } catch (error) {
      // A newer catalogue or configuration may allow the request.
      if (!(error instanceof Problem && (await this.#catchUp(env)))) throw error;
      return this.recommend(env, context, request, keys);
    }
  }

  #decide(
    env: Environment,
    context: Pick<ExecutionContext, "waitUntil">,
    { served, generation }: Held & { readonly served: Served },
    { defer, ...request }: EdgeRequest,
    keys: RequestKeys,
  ): Recommendation {
    const now = Date.now();
    const { config, version } = served;
    const { arm, rows: all, actions } = decide(served, request, keys, now);
    const { byPage } = request;
    const sampling = byPage && config.pageShare === 0 ? NONE : this.#sampling[giverOf(byPage)];
    const rows = sampled(all, sampling).filter(({ id }) => isKept(id, sampling));
    const shown = { generation, rows, unsampled: all.length - rows.length, byPage, deferred: defer };
    if (this.#outbox.put(shown, now)) context.waitUntil(this.#register(env));
    return { generation, sampling, modelVersion: version, policy: config.policy, arm, windowEndsAt: now + config.window.ms, actions };
  }

  /** Takes the learner's newest publication. */
  async renew(env: Environment): Promise<void> {
    await this.#take(await learner(env, this.#model, (stub) => stub.publication()));
  }

  /** Takes a publication from the learner if it has a newer one. Returns whether it had. */
  async #renewIfOutdated(env: Environment): Promise<boolean> {
    const { generation, version } = this.#held ?? { generation: 0, version: -1 };
    const bytes = await learner(env, this.#model, (stub) => stub.publicationAfter({ generation, version }), { retry: false });
    if (bytes) await this.#take(bytes);
    return bytes !== null;
  }

  /** Looks for a newer publication in KV and, if KV has none at all, at the learner. A failure keeps the held one. */
  async #look(env: Environment): Promise<void> {
    const found = await new PublicationStore(env.EVENTS).get(this.#model).catch(() => undefined);
    if (found) await this.#take(found);
    this.#checkedAt = Date.now();
    this.#lookingSince = 0;
    if (found && this.#held) return;
    try {
      await (this.#held ? this.#renewIfOutdated(env) : this.renew(env));
    } catch (error) {
      // 404 means that the model was deleted. Every other failure keeps the held publication.
      if (!(error instanceof Problem && error.status === 404)) return;
      this.#held = undefined;
      throw error;
    }
  }

  /** Takes a newer publication from the learner, at most once a second. Returns whether it did. A failure keeps the held one. */
  async #catchUp(env: Environment): Promise<boolean> {
    const interval = Math.floor(Date.now() / CATCH_UP_MS);
    if (interval === this.#caughtUpIn) return false;
    this.#caughtUpIn = interval;
    return this.#renewIfOutdated(env).catch(() => false);
  }

  async #take(bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    try {
      const publication = await decodePublication(bytes);
      if (!publication) this.#outbox.keptOut();
      else if (this.#isNewer(publication)) {
        const held = await heldOf(publication);
        // A newer one may have been taken during the await.
        if (this.#isNewer(publication)) this.#held = held;
      }
    } catch {
      // The bytes are whole, but this version of the code cannot read them.
      this.#outbox.keptOut();
    }
  }

  #isNewer(publication: Publication): boolean {
    if (!this.#held || isNewer(publication, this.#held)) return true;
    if (isNewer(this.#held, publication)) this.#outbox.keptOut();
    return false;
  }

  async #register(env: Environment): Promise<void> {
    let newest: Edition | undefined;
    await this.#outbox.send(async (registration) => {
      const registry = await learner(env, this.#model, (stub) => stub.registerShown(registration));
      this.#sampling = registry.sampling ?? EVERYTHING;
      newest = { generation: registry.generation, version: registry.newest };
    });
    if (!newest || !this.#held) return;
    // The learner knows what is newest, so KV need not be asked for a while.
    if (!isNewer(newest, this.#held) || (await this.#catchUp(env))) this.#checkedAt = Date.now();
  }
}

async function heldOf({ config, actions, version, generation, parts }: Publication): Promise<Held> {
  if (config.serving === "learner") return { generation, version, served: null };
  const policies = await restorePolicies(parts);
  return { generation, version, served: { config, version, policies, featurize: featurizer(config), catalogue: new Catalogue(actions) } };
}
