import { evictAllDurableObjects, reset } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterAll, afterEach, beforeEach, expect } from "vitest";
import { listen, unexpected } from "./complaints.ts";

// Between two writes to KV a learner waits for a second. The clocks of most tests stand still, so nobody needs to wait.
const { wait } = scheduler;
scheduler.wait = (ms, options) => wait.call(scheduler, ms < 500 ? ms : 0, options);

beforeEach(listen);
// An unexpected console message fails its test.
afterEach(() => expect(unexpected(), "complaints that this test does not expect").toEqual([]));

// The next file in this runtime finds nothing, so no alarm of an unknown model runs meanwhile.
afterAll(async () => {
  await evictAllDurableObjects();
  await reset();
  for (let complete = false; !complete; ) {
    const { keys, list_complete } = await env.EVENTS.list();
    await Promise.all(keys.map(({ name }) => env.EVENTS.delete(name)));
    complete = list_complete;
  }
});
