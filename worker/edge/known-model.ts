import { createMiddleware } from "hono/factory";
import { PublicationStore } from "../kv/publication-store.ts";
import { unknownModel } from "../protocol/problem.ts";
import { isByPage, type Keyed } from "./api-keys.ts";

/** Models that an isolate remembers to exist. */
const MOST_MODELS = 10_000;

/**
 * Lets a publishable key reach only models that KV knows, because addressing a learner creates its object. A new model may be
 * unknown to pages for a minute. If KV fails, the request passes. Follows `apiKeys` on a route with `:model`.
 *
 * @throws {Problem} 404.
 */
export function knownModel() {
  const known = new Set<string>();
  return createMiddleware<Keyed>(async (c, next) => {
    const model = c.req.param("model") as string;
    if (isByPage(c) && !known.has(model)) {
      if (!(await new PublicationStore(c.env.EVENTS).has(model).catch(() => true))) throw unknownModel();
      if (known.size === MOST_MODELS) known.clear();
      known.add(model);
    }
    await next();
  });
}
