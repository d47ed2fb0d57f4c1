import { Webhook } from "standardwebhooks";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { repeatDelay } from "../../../../cli/replay/plan.ts";
import { Sender } from "../../../../cli/replay/sender.ts";
import { Tally } from "../../../../cli/replay/tally.ts";
import { endPauses, notedPauses } from "../../../support/pauses.ts";

// When the simulated shop sends which conversions, and what it makes of the answers.

const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const HOUR_MS = 3_600_000;
const plan = { seed: 1, rate: 0.1, windowMs: HOUR_MS };

interface Sent {
  readonly id: string;
  readonly sentAt: number;
  readonly data: { readonly impressionId: string; readonly reward: number }[];
}

let tally: Tally;
let sent: Sent[];
let answer: (webhook: Sent) => Response;
let start: number;

beforeEach(() => {
  notedPauses();
  start = Date.now();
  tally = new Tally();
  sent = [];
  answer = ({ data }) => Response.json({ conversions: data.map(() => ({ status: "applied" })) });
  vi.stubGlobal("fetch", async (url: URL, { method, headers, body }: { method: string; headers: Record<string, string>; body: string }) => {
    expect([method, url.href]).toEqual(["POST", "https://worker.example/v1/conversions"]);
    // A repeated webhook is signed anew: a signature of more than five minutes ago is refused.
    const { type, timestamp, data } = new Webhook(SECRET).verify(body, headers) as { type: string; timestamp: string; data: Sent["data"] };
    expect([type, Date.parse(timestamp)]).toEqual(["conversion", expect.any(Number)]);
    const webhook = { id: headers["webhook-id"], sentAt: Date.now(), data };
    sent.push(webhook);
    return answer(webhook);
  });
});
afterEach(() => {
  vi.unstubAllGlobals();
  endPauses();
});

const senderOf = (of = plan) => new Sender({ base: new URL("https://worker.example"), secret: SECRET, run: "r", plan: of, tally });
/** A seed under which the first webhooks are not sent again. */
const once = {
  ...plan,
  seed: Array.from({ length: 100 }, (_, seed) => seed).find((seed) =>
    [0, 1, 2].every((i) => repeatDelay({ ...plan, seed }, i) === undefined),
  ) as number,
};

it("sends a conversion when it is due, and at most eight in one webhook", async () => {
  const sender = senderOf(once);
  for (let i = 0; i < 9; i++) sender.schedule(i, `i-${i}`, start, 1000);
  sender.schedule(9, "last", start - 500, 2500);
  expect(sender.waiting).toBe(10);
  sender.complete();
  await sender.run();
  expect(sender.waiting).toBe(0);
  expect(sent.map(({ id, sentAt, data }) => [id, sentAt - start, data.length])).toEqual([
    ["msg_r_0", 1000, 8],
    ["msg_r_1", 1000, 1],
    ["msg_r_2", 2000, 1],
  ]);
  const ids = sent.slice(0, 2).flatMap(({ data }) => data.map(({ impressionId }) => impressionId));
  expect(ids.toSorted()).toEqual(Array.from({ length: 9 }, (_, i) => `i-${i}`));
  // The order is not that of the rows.
  expect(ids).not.toEqual(ids.toSorted());
  expect(sent[2].data).toEqual([{ impressionId: "last", reward: 1 }]);
  expect(tally.counts).toEqual({ joined: 10, duplicate: 0, late: 0, lost: 0 });
});

it("sends a webhook again at the time of the plan, and waits for it", async () => {
  const seed = Array.from({ length: 1000 }, (_, i) => i).find((i) => (repeatDelay({ ...plan, seed: i }, 0) ?? 0) > 310_000) as number;
  const again = { ...plan, seed };
  answer = ({ data }) => Response.json({ conversions: data.map(() => ({ status: sent.length > 1 ? "duplicate" : "applied" })) });
  const sender = senderOf(again);
  sender.schedule(0, "one", start, 0);
  sender.schedule(1, "two", start, 0);
  sender.complete();
  const waiting: number[] = [];
  const first = answer;
  answer = (webhook) => {
    waiting.push(sender.waiting);
    return first(webhook);
  };
  await sender.run();
  // Both conversions of the first webhook are to be sent once more.
  expect(waiting).toEqual([2, 0]);
  expect(sent.map(({ id }) => id)).toEqual(["msg_r_0", "msg_r_0"]);
  expect(sent[1].data).toEqual(sent[0].data);
  const due = 200 + (repeatDelay(again, 0) as number);
  const passed = sent[1].sentAt - sent[0].sentAt;
  expect(passed).toBeGreaterThanOrEqual(due);
  expect(passed).toBeLessThan(due + 200);
  expect(tally.counts).toEqual({ joined: 2, duplicate: 2, late: 0, lost: 0 });
});

it("takes a conversion for late that it sends after the window", async () => {
  answer = ({ data }) => Response.json({ conversions: data.map(({ impressionId }) => ({ status: impressionId })) });
  const sender = senderOf(once);
  sender.schedule(0, "applied", start, HOUR_MS);
  sender.schedule(1, "late", start, HOUR_MS + 200);
  sender.complete();
  await sender.run();
  expect(tally.counts).toEqual({ joined: 1, duplicate: 0, late: 1, lost: 0 });
});

it("goes on until it is told that no more will come", async () => {
  const sender = senderOf(once);
  sender.schedule(0, "one", start, 0);
  answer = () => {
    if (sent.length === 1) sender.schedule(1, "two", Date.now(), 5000);
    else sender.complete();
    return Response.json({ conversions: [{ status: "applied" }] });
  };
  await sender.run();
  expect(sent).toHaveLength(2);
  expect(tally.counts.joined).toBe(2);
});

describe("an answer", () => {
  async function sendTwo(): Promise<void> {
    const sender = senderOf(once);
    for (const i of [0, 1]) sender.schedule(i, `i-${i}`, start, 0);
    sender.complete();
    await sender.run();
  }

  it("that refuses the signature ends the replay", async () => {
    answer = () => Response.json({ detail: "wrong signature" }, { status: 401 });
    await expect(sendTwo()).rejects.toThrow("POST /v1/conversions answered 401: wrong signature");
  });

  it("that refuses the conversions, or does not come, loses them", async () => {
    answer = () => Response.json({ detail: "wrong body" }, { status: 422 });
    await sendTwo();
    answer = () => {
      throw new TypeError("fetch failed");
    };
    await sendTwo();
    expect(sent).toHaveLength(1 + 8);
    expect(Array.from(tally.losses)).toEqual([
      ["POST /v1/conversions answered 422: wrong body", 2],
      ["no worker answers at https://worker.example: fetch failed", 2],
    ]);
  });

  it("without a status of some loses these", async () => {
    answer = () => Response.json({ conversions: [{ status: "applied" }] });
    await sendTwo();
    expect(tally.counts).toEqual({ joined: 1, duplicate: 0, late: 0, lost: 1 });
    expect(Array.from(tally.losses.keys())).toEqual(["answered nothing to a conversion that came in time and was not known before"]);
  });

  it("after a lost one may speak of the attempt before", async () => {
    answer = ({ data }) => {
      if (sent.length === 1) throw new TypeError("fetch failed");
      return Response.json({ conversions: data.map(() => ({ status: "duplicate" })) });
    };
    await sendTwo();
    expect(tally.counts).toEqual({ joined: 2, duplicate: 0, late: 0, lost: 0 });
  });
});
