import type { RequestKeys } from "../domain/ids/join-key.ts";
import type { Environment } from "../environment.ts";
import { Problem } from "../protocol/problem.ts";
import type { Recommendation } from "../rpc/message.ts";
import { type EdgeRequest, ModelCache } from "./model-cache.ts";

/** The models that one isolate serves. */
export class Edge {
  readonly #models = new Map<string, ModelCache>();

  /**
   * Decides by the newest publication at hand and registers the impressions in the background. If the learner serves the model, the
   * learner decides.
   *
   * @throws {Problem} 404 if there is no such model, 503 if neither a publication nor the learner can be reached.
   */
  async recommend(
    env: Environment,
    context: Pick<ExecutionContext, "waitUntil">,
    model: string,
    request: EdgeRequest,
    keys: RequestKeys,
  ): Promise<Recommendation> {
    try {
      return await this.#cache(model).recommend(env, context, request, keys);
    } catch (error) {
      if (error instanceof Problem && error.status === 404) this.drop(model);
      throw error;
    }
  }

  /** Takes the learner's newest publication, after a change that this isolate has passed on. */
  renew(env: Environment, model: string): Promise<void> {
    return this.#cache(model).renew(env);
  }

  /** Forgets a deleted model. */
  drop(model: string): void {
    this.#models.delete(model);
  }

  #cache(model: string): ModelCache {
    const cache = this.#models.get(model) ?? new ModelCache(model);
    this.#models.set(model, cache);
    return cache;
  }
}
