import { bearerAuth } from "hono/bearer-auth";
import { type Environment, type SecretName, secret } from "./environment.ts";

async function digest(text: string): Promise<ArrayBuffer> {
  return crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
}

/** Lets a request pass if it bears one of the named keys. All of them are compared, each in constant time. */
export function keys(...names: readonly SecretName[]) {
  return bearerAuth<{ Bindings: Environment }>({
    async verifyToken(token, c) {
      const given = await digest(token);
      let match = false;
      for (const name of names) {
        const same = crypto.subtle.timingSafeEqual(given, await digest(secret(c.env, name)));
        match = same || match;
      }
      return match;
    },
  });
}
