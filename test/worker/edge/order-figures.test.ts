import { beforeEach, expect, it, vi } from "vitest";
import { call, createModel, type Reply, show } from "../support/client.ts";
import { DAY_MS, START, tick, useClock } from "../support/clock.ts";
import { complaints } from "../support/complaints.ts";
import { failing, learners } from "../support/fault.ts";
import { goals, metadataOf, refund, sent, session, shopify, shown, stripe } from "../support/sent.ts";

// How many of a sender's orders had an impression: an id that gets lost in a shop's theme must not stay unseen.

/** Other files report orders at the start of the test clock. */
const FIRST = START + 100 * DAY_MS;
const dayAfter = (days: number) => new Date(FIRST + days * DAY_MS).toISOString().slice(0, 10);
const TODAY = dayAfter(0);

useClock();
beforeEach(() => void vi.setSystemTime(FIRST));
// The worker logs each message that it ignores.
beforeEach(() => void vi.spyOn(console, "info").mockReturnValue());

/** The figures of a sender, as the metrics of any model state them. */
async function figuresOf(sender: string, env = {}) {
  const { status, body } = await call("GET", `/v1/models/${await createModel()}/metrics`, undefined, { env });
  expect(status).toBe(200);
  const found = body.senders.find((each: { sender: string }) => each.sender === sender);
  if (!found) return { sender, days: [], finding: null };
  return { ...found, days: found.days.filter(({ day }: { day: string }) => day >= TODAY) };
}

const configuration = {
  ...{ secret: "a-secret-of-32-random-characters", event: "$.id", items: "$.lines" },
  ...{ impressionId: "seen", reward: "total", timestamp: "$.at" },
};
/** Sends an order of one line with an id in it. */
const order = (sender: string, id: unknown, seen?: string): Promise<Reply> =>
  sent(sender, configuration, { id, at: Date.now(), lines: [{ seen, total: 5 }] });

it("counts each order once, on the day of its first message, and each day by itself", async () => {
  const { ids } = await shown(2);
  for (const [id, seen] of [["A"], ["A"], ["B", ids[0]], ["C", ""], ["D", "undefined"], ["B", ids[0]]] as const) {
    const { status } = await order("erp", id, seen);
    expect(status).toBe(seen === ids[0] ? 202 : 200);
  }
  expect((await figuresOf("erp")).days).toEqual([{ day: TODAY, orders: 4, attributed: 1 }]);
  tick(DAY_MS);
  // A later message of an order may bring the id that the first one lacked.
  await order("erp", "A", ids[1]);
  await order("erp", "E");
  expect((await figuresOf("erp")).days).toEqual([
    { day: dayAfter(1), orders: 1, attributed: 0 },
    { day: TODAY, orders: 4, attributed: 2 },
  ]);
  tick(13 * DAY_MS);
  await order("erp", "F");
  expect((await figuresOf("erp")).days.map(({ day }: { day: string }) => day)).toEqual([dayAfter(14), dayAfter(1)]);
});

it("counts no message that reports no order or is forged, and one that is malformed with its reason", async () => {
  const { ids } = await shown(1);
  await sent("quiet", configuration, { id: "A", at: 1 });
  await sent("quiet", configuration, { id: "A", at: 1, lines: [] });
  await order("quiet", undefined);
  await order("quiet", null);
  const lines = JSON.stringify({ id: "A", at: 1, lines: [{}] });
  const env = { AFTERCLICK_SENDERS: JSON.stringify({ quiet: { header: "x-signature", ...configuration } }) };
  expect((await call("POST", "/v1/hooks/quiet", lines, { key: null, headers: { "x-signature": "ab".repeat(32) }, env })).status).toBe(401);
  expect((await figuresOf("quiet")).days).toEqual([]);
  expect((await sent("quiet", configuration, { id: "A", at: 1, lines: [{ seen: ids[0] }] })).status).toBe(200);
  expect((await figuresOf("quiet")).days).toEqual([{ day: TODAY, orders: 1, attributed: 1, ignored: { malformed: 1 } }]);
});

it("counts the orders of Stripe by their payments, and neither refunds nor sessions that take no money", async () => {
  const { ids } = await shown(1);
  const metadata = metadataOf(ids, [100]);
  await stripe(session({ payment_intent: "pi_counted_1", amount_total: 100 }));
  // Stripe does not copy the metadata of a session to its payment, so one of the two may lack it.
  await stripe({ type: "payment_intent.succeeded", created: 1, data: { object: { id: "pi_counted_1", metadata: {} } } });
  await stripe(session({ payment_intent: "pi_counted_2", amount_total: 100, metadata }));
  await stripe({ type: "payment_intent.succeeded", created: 1, data: { object: { id: "pi_counted_2", metadata: {} } } });
  await stripe(session({ payment_intent: "pi_counted_3", payment_status: "unpaid" }));
  await stripe(session({ id: "cs_3", mode: "setup" }));
  await stripe(refund({ id: "ch_1", amount: 100, metadata: {}, amount_refunded: 100 }, 0));
  await stripe({ type: "customer.created", data: { object: { id: "cus_1" } } });
  expect((await figuresOf("stripe")).days).toEqual([{ day: TODAY, orders: 2, attributed: 1 }]);
});

it("counts an order of Shopify with an id in any line or in the cart, or with a key", async () => {
  const { ids } = await shown(2);
  const model = await createModel({ goals });
  await show(model, { keys: ["7"] });
  const at = new Date().toISOString();
  const order = (id: number, more: object = {}, value?: string) => ({
    ...{ id, currency: "EUR", created_at: at },
    line_items: [
      { id, price: "5", quantity: 1, properties: [] },
      { id: id + 100, price: "5", quantity: 1, properties: [{ name: "_afterclick", value }] },
    ],
    ...more,
  });
  await shopify("orders/paid", order(901));
  await shopify("orders/create", order(901));
  await shopify("orders/create", order(902, {}, ids[0]));
  await shopify("orders/create", order(903, { note_attributes: [{ name: "_afterclick", value: ids[1] }] }));
  await shopify("orders/create", order(904, { customer: { id: 7 } }), { query: `?model=${model}&key=$.customer.id` });
  await shopify("refunds/create", { id: 9, order_id: 5, created_at: at, refund_line_items: [] });
  await shopify("products/create", { id: 6 });
  expect((await figuresOf("shopify")).days).toEqual([{ day: TODAY, orders: 4, attributed: 3 }]);
});

it("says in words that almost no order has an id, once there are enough of them, and only of the newest such day", async () => {
  const { ids } = await shown(1);
  const none = (from: number, to: number) => Promise.all(Array.from({ length: to - from }, (_, i) => order("theme", from + i)));
  await none(0, 19);
  expect((await figuresOf("theme")).finding).toBeNull();
  await none(19, 20);
  expect((await figuresOf("theme")).finding).toBe(
    `0 of 20 orders of theme had an impression id or a key on ${TODAY}: the page does not copy it into the cart, or the cart not into ` +
      "the order. See docs/senders.md",
  );
  tick(DAY_MS);
  await order("theme", "first", ids[0]);
  expect((await figuresOf("theme")).finding).toMatch(/^0 of 20 orders/);
  await none(100, 119);
  expect((await figuresOf("theme")).finding).toBeNull();
});

it("says in words that many orders are ignored, and that the grace is too short for the sender", async () => {
  const { ids } = await shown(1);
  const paid = (id: number, currency: string) =>
    stripe(session({ payment_intent: `pi_ignored_${id}`, amount_total: 100, currency, client_reference_id: ids[0] }));
  for (let id = 0; id < 20; id++) await paid(id, id < 4 ? "usd" : "eur");
  const { days, finding } = await figuresOf("stripe");
  expect(days[0]).toEqual({ day: TODAY, orders: expect.any(Number), attributed: expect.any(Number), ignored: { currency: 4 } });
  expect(finding).toMatch(
    /^4 of \d+ orders of stripe were ignored on [\d-]+: currency\. See docs\/senders\.md\. stripe repeats a message for up to 72 hours/,
  );
  const leftOut = await figuresOf("stripe", { AFTERCLICK_GRACE_MS: "" });
  expect(leftOut.finding).not.toMatch(/72 hours/);
  tick(1000);
  await paid(0, "eur");
  expect((await figuresOf("stripe")).days[0].ignored).toEqual({ currency: 3 });
});

it("needs no learner for an order to be taken, and no count for the metrics", async () => {
  const { ids } = await shown(1);
  const env = { LEARNER: learners(failing("countOrder", "orders")) };
  const line_items = [{ id: 1, price: "5", quantity: 1, properties: [{ name: "_afterclick", value: ids[0] }] }];
  const body = { id: 977, currency: "EUR", created_at: new Date().toISOString(), line_items };
  await order("down", "A");
  expect((await figuresOf("down", env)).days).toEqual([]);
  expect(complaints()).toEqual(["orders of senders Unreachable"]);
  expect((await shopify("orders/paid", body, { env })).body.conversions).toMatchObject([{ status: "applied" }]);
  expect(complaints()).toEqual(["orders of senders Unreachable"]);
});
