import { LatestSet } from "../../domain/ids/latest-set.ts";
import type { Environment } from "../../environment.ts";
import { PublicationStore } from "../../kv/publication-store.ts";

/** Models that an isolate remembers to exist. */
const MOST_MODELS = 10_000;

/**
 * The models that KV knows. A publishable key reaches no others, because addressing a learner creates its object. A new model may be
 * unknown to pages for a minute.
 */
export class KnownModels {
  readonly #known = new LatestSet<string>(MOST_MODELS);

  /** Whether KV knows a model. If KV fails, the model counts as known. */
  async has(env: Environment, model: string): Promise<boolean> {
    if (this.#known.has(model)) return true;
    if (!(await new PublicationStore(env.EVENTS).has(model).catch(() => true))) return false;
    this.#known.add(model);
    return true;
  }
}
