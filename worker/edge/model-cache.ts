import { Catalogue } from "../domain/catalogue.ts";
import { type DecisionRequest, decide, type Served } from "../domain/decision.ts";
import { featurizer } from "../domain/model.ts";
import { decodePublication, isNewer, type Publication, PublicationStore } from "../domain/publication.ts";
import type { Environment } from "../environment.ts";
import { restoreTeam } from "../learner/live-model.ts";
import { Problem } from "../protocol/problem.ts";
import type { Recommendation } from "../rpc/message.ts";
import { learner } from "./learner-client.ts";
import { Outbox } from "./outbox.ts";

/** How long a publication is served before the isolate looks for a newer one, in ms. */
const FRESH_MS = 10_000;

export type EdgeRequest = DecisionRequest & { readonly defer: boolean };

interface Held extends Served {
  readonly generation: number;
}

/** One isolate's copy of a model: the newest publication of it that came by, and what was shown by it and is not registered yet. */
export class Copy {
  readonly #model: string;
  readonly #outbox = new Outbox();
  #held?: Held;
  #checkedAt = 0;
  /** Since when somebody looks for something newer. A promise of one request must not be awaited by another. */
  #lookingSince = 0;

  constructor(model: string) {
    this.#model = model;
  }

  /** @see Edge.recommend */
  async recommend(
    env: Environment,
    context: Pick<ExecutionContext, "waitUntil">,
    { defer, ...request }: EdgeRequest,
    keys: readonly string[],
  ): Promise<Recommendation | null> {
    const now = Date.now();
    if (!this.#held) await this.#look(env);
    else if (Math.abs(now - this.#checkedAt) >= FRESH_MS && Math.abs(now - this.#lookingSince) >= FRESH_MS) {
      this.#lookingSince = now;
      context.waitUntil(this.#look(env).catch(() => {}));
    }
    const held = this.#held;
    if (!held) throw new Problem(503, "neither a snapshot of the model nor its learner can be reached");
    const { config, version, generation } = held;
    if (config.serving === "learner") return null;
    const { arm, rows, actions } = decide(held, request, keys, now);
    if (this.#outbox.put({ generation, rows, deferred: defer }, now)) context.waitUntil(this.#register(env));
    return { modelVersion: version, policy: config.policy, arm, windowEndsAt: now + config.window.ms, actions };
  }

  /** Takes what the learner would publish now. */
  async renew(env: Environment): Promise<void> {
    await this.#take(await learner(env, this.#model, (stub) => stub.publication()));
  }

  /** Looks for something newer: in KV, then, if there is nothing to serve, at the learner. What fails leaves what is held. */
  async #look(env: Environment): Promise<void> {
    const found = await new PublicationStore(env.EVENTS).get(this.#model).catch(() => undefined);
    if (found) await this.#take(found);
    this.#checkedAt = Date.now();
    this.#lookingSince = 0;
    if (found && this.#held) return;
    try {
      await this.renew(env);
    } catch (error) {
      // Unreachable: what is held goes on. Deleted: there is nothing to serve any more.
      if (!(error instanceof Problem && error.status === 404)) return;
      this.#held = undefined;
      throw error;
    }
  }

  async #take(bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    try {
      const publication = await decodePublication(bytes);
      if (!publication) this.#outbox.keptOut();
      else if (this.#isNewer(publication)) {
        const held = await heldOf(publication);
        // Another one may have been taken while this one was read.
        if (this.#isNewer(publication)) this.#held = held;
      }
    } catch {
      // Whole, but not readable by this version of the code.
      this.#outbox.keptOut();
    }
  }

  #isNewer(publication: Publication): boolean {
    if (!this.#held || isNewer(publication, this.#held)) return true;
    if (isNewer(this.#held, publication)) this.#outbox.keptOut();
    return false;
  }

  async #register(env: Environment): Promise<void> {
    await this.#outbox.send(async (registration) => {
      const { newest } = await learner(env, this.#model, (stub) => stub.registerShown(registration));
      // The learner has published since: the next look is due.
      if (this.#held && newest > this.#held.version) this.#checkedAt = 0;
    });
  }
}

async function heldOf({ config, actions, version, generation, parts }: Publication): Promise<Held> {
  const team = await restoreTeam(parts);
  return { config, generation, version, team, featurize: featurizer(config), catalogue: new Catalogue(actions) };
}
