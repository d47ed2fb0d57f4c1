import type { Environment } from "../environment.ts";
import { Problem } from "../protocol/problem.ts";
import { type LearnerCall, learner } from "../rpc/learner-client.ts";
import type { Recommendation, RecommendRequest } from "../rpc/message.ts";
import { type Background, ModelCache } from "./model-cache.ts";

/** The models that one isolate serves. */
export class Edge {
  readonly #models = new Map<string, ModelCache>();

  /**
   * Decides by the newest publication at hand and registers the impressions in the background. If the learner serves the model, the
   * learner decides.
   *
   * @throws {Problem} 404 if there is no such model, 503 if neither a publication nor the learner can be reached.
   */
  async recommend(env: Environment, context: Background, model: string, request: RecommendRequest): Promise<Recommendation> {
    try {
      return await this.#cache(model).recommend(env, context, request);
    } catch (error) {
      if (error instanceof Problem && error.status === 404) this.drop(model);
      throw error;
    }
  }

  /** Passes a change on to the learner, and takes what the learner then publishes. */
  async change<T>(env: Environment, model: string, call: LearnerCall<T>, options?: { readonly retry: boolean }): Promise<T> {
    const answer = await learner(env, model, call, options);
    await this.#cache(model).renew(env);
    return answer;
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
