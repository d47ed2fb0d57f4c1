import type { Environment } from "../environment.ts";
import { Problem } from "../protocol/problem.ts";
import type { Recommendation } from "../rpc/message.ts";
import { Copy, type EdgeRequest } from "./model-cache.ts";

/** What one isolate knows of the models that it serves. */
export class Edge {
  readonly #copies = new Map<string, Copy>();

  /**
   * Decides by the newest publication at hand, and registers what was shown in the background.
   *
   * @param keys hashes, under which the impressions can be found.
   * @returns null if the learner decides itself.
   * @throws {Problem} 404 if there is no such model, 503 if nothing of it can be reached.
   */
  async recommend(
    env: Environment,
    context: Pick<ExecutionContext, "waitUntil">,
    model: string,
    request: EdgeRequest,
    keys: readonly string[],
  ): Promise<Recommendation | null> {
    try {
      return await this.#copy(model).recommend(env, context, request, keys);
    } catch (error) {
      if (error instanceof Problem && error.status === 404) this.drop(model);
      throw error;
    }
  }

  /** Takes what the learner would publish now: after a change that this isolate has passed on. */
  renew(env: Environment, model: string): Promise<void> {
    return this.#copy(model).renew(env);
  }

  /** The model was deleted. */
  drop(model: string): void {
    this.#copies.delete(model);
  }

  #copy(model: string): Copy {
    const copy = this.#copies.get(model) ?? new Copy(model);
    this.#copies.set(model, copy);
    return copy;
  }
}
