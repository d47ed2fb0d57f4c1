import { createMiddleware } from "hono/factory";
import { unknownModel } from "../../protocol/problem.ts";
import { isByPage, type Keyed } from "./api-keys.ts";
import { bodyLimit, MAX_BODY_BYTES } from "./body-limit.ts";
import type { KnownModels } from "./known-model.ts";
import { countPage } from "./rate-limit.ts";

/** Most bytes of a body with a publishable key. Reading and encoding more would take longer than 50 ms. */
const pageBody = bodyLimit<Keyed>(MAX_BODY_BYTES / 8);

/** Limits that hold for a publishable key alone. Follows `anyKey` on a route with `:model`. */
export const pageGuard = (known: KnownModels) =>
  createMiddleware<Keyed>(async (c, next) => {
    if (!isByPage(c)) return next();
    await countPage(c);
    return pageBody(c, async () => {
      if (!(await known.has(c.env, c.req.param("model") as string))) throw unknownModel();
      await next();
    });
  });

export type PageGuard = ReturnType<typeof pageGuard>;
