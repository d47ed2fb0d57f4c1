import type { Env } from "hono";
import { bodyLimit as countedLimit } from "hono/body-limit";
import { createMiddleware } from "hono/factory";
import { Problem } from "../../protocol/problem.ts";
import { bodyBy } from "../../protocol/validation.ts";

/** Most bytes of a body, unless its route has a limit of its own. */
export const MAX_BODY_BYTES = 1024 * 1024;

/** Most bytes of a past log, which may be sent in parts, and of a catalogue. */
export const MAX_LARGE_BYTES = 4 * MAX_BODY_BYTES;

/** Refuses a longer body with 413. */
export const bodyLimit = <E extends Env = object>(maxSize: number) => {
  const tooLarge = () => Promise.reject(new Problem(413, `the body may have ${maxSize} bytes`));
  const counted = countedLimit({ maxSize, onError: tooLarge });
  return createMiddleware<E>(async (c, next) => {
    const { raw } = c.req;
    // The platform ends a body at its stated length. `body` is not touched then, because that makes a stream.
    const length = raw.headers.has("transfer-encoding") ? null : raw.headers.get("content-length");
    if (length !== null) return Number(length) <= maxSize ? next() : tooLarge();
    // A middleware in front of the mounted app may have read the body.
    if (raw.bodyUsed || raw.body?.locked) return (await bodyBy(() => c.req.arrayBuffer())).byteLength > maxSize ? tooLarge() : next();
    return counted(c, next);
  });
};
