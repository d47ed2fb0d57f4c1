import { reset } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterAll, afterEach, beforeEach, expect } from "vitest";
import { listen, unexpected } from "./complaints.ts";

beforeEach(listen);
// A complaint that its test did not expect fails that test.
afterEach(() => expect(unexpected(), "complaints that this test does not expect").toEqual([]));

// The next file in this runtime finds nothing: no alarm of a model that it did not make rings meanwhile.
afterAll(async () => {
  await reset();
  for (let complete = false; !complete; ) {
    const { keys, list_complete } = await env.EVENTS.list();
    await Promise.all(keys.map(({ name }) => env.EVENTS.delete(name)));
    complete = list_complete;
  }
});
