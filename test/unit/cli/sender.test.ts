import { Webhook } from "standardwebhooks";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Sender } from "../../../cli/replay/sender.ts";
import { Tally } from "../../../cli/replay/tally.ts";

const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const HOUR_MS = 3_600_000;

beforeEach(() => void vi.useFakeTimers({ now: Date.parse("2026-11-21T12:00:00Z"), toFake: ["Date"] }));
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

it("signs a repeated webhook anew, with the id and the body of the first", async () => {
  const [webhook, received] = [new Webhook(SECRET), new Map<string, string[]>()];
  vi.stubGlobal("fetch", async (_: URL, { headers, body }: { headers: Record<string, string>; body: string }) => {
    // It refuses a signature of more than five minutes ago.
    webhook.verify(body, headers);
    const before = received.get(headers["webhook-id"]) ?? [];
    received.set(headers["webhook-id"], [...before, body]);
    const status = before.length > 0 ? "duplicate" : "applied";
    return Response.json({ conversions: JSON.parse(body).data.map(() => ({ status })) });
  });
  const tally = new Tally();
  const plan = { seed: 1, rate: 0.1, windowMs: HOUR_MS };
  const sender = new Sender({ base: new URL("https://worker.example"), secret: SECRET, run: "r", plan, tally });
  for (let i = 0; i < 480; i++) sender.schedule(i, `i-${i}`, Date.now(), 0);
  sender.complete();
  // Ten minutes pass in a fifth of a second, after which the sender looks for what is due.
  const passing = setInterval(() => vi.setSystemTime(Date.now() + 60_000), 20);
  await sender.run().finally(() => clearInterval(passing));
  const repeated = Array.from(received.values()).filter(({ length }) => length > 1);
  expect(received.size).toBe(60);
  expect(repeated.length).toBeGreaterThan(2);
  for (const [first, second, ...others] of repeated) expect([second, others]).toEqual([first, []]);
  expect(tally.counts.lost).toBe(0);
});
