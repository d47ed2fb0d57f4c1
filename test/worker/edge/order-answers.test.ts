import { createHmac } from "node:crypto";
import { beforeEach, describe, expect, it, vi } from "vitest";
import page from "../../../docs/senders.md?raw";
import { call, createModel, type Reply, show, statusesOf } from "../support/client.ts";
import { MINUTE_MS, tick, useClock } from "../support/clock.ts";
import { event, ignored, intent, modified, stockOrder, text } from "../support/orders.ts";
import { forgetOrders, goals, metadataOf, rewardOf, seconds, sent, shopify, shown, stripe } from "../support/sent.ts";

// The answers of the hooks: to the examples and the table of the documentation, and to bad input.

useClock();
beforeEach(forgetOrders);
beforeEach(() => void vi.spyOn(console, "info").mockReturnValue());

/** The senders of the documentation's examples. */
const documented: Readonly<Record<string, { readonly secret: string; readonly header: string; readonly encoding: "hex" | "base64" }>> =
  Object.assign({}, ...Array.from(page.matchAll(/```json\n([\s\S]*?)```/g), ([, json]) => JSON.parse(json)));

function documentedSender(name: string, payload: object): Promise<Reply> {
  const { secret, header, encoding, prefix = "" } = documented[name] as (typeof documented)[string] & { readonly prefix?: string };
  const body = JSON.stringify(payload);
  const headers = { [header]: prefix + createHmac("sha256", secret).update(body).digest(encoding) };
  return call("POST", `/v1/hooks/${name}`, body, { key: null, headers, env: { AFTERCLICK_SENDERS: JSON.stringify(documented) } });
}

it("each example of the documentation takes its sender's own payload", async () => {
  const { ids } = await shown(2);
  const payloads: Readonly<Record<string, object>> = {
    erp: { id: "A-1", created: seconds(), currency: "EUR", lines: [{ impression: ids[0], total: "29.95" }] },
    woo: stockOrder(ids[1]),
  };
  expect(Object.keys(documented)).toEqual(Object.keys(payloads));
  for (const [name, payload] of Object.entries(payloads)) expect(statusesOf(await documentedSender(name, payload))).toEqual(["applied"]);
  expect((await Promise.all(ids.map(rewardOf))).map((reward) => reward.toFixed(2))).toEqual(["29.95", "40.00"]);
  await documentedSender("woo", stockOrder(ids[1], { ...modified(5), refunds: [{ id: 1, reason: "", total: "-15.00" }] }));
  expect(await rewardOf(ids[1])).toBe(25);
  await documentedSender("woo", stockOrder(ids[1], { ...modified(9), status: "refunded" }));
  expect(await rewardOf(ids[1])).toBe(0);
});

describe("bad input", () => {
  it("an order of many messages, a refund before it and an edit of an order that never came", async () => {
    const { ids } = await shown(1);
    const line = (quantity: number) => ({
      id: 1,
      price: "10.00",
      quantity: 5,
      current_quantity: quantity,
      properties: [{ name: "_afterclick", value: ids[0] }],
    });
    const order = (id: number, quantity: number, at: number) => ({
      ...{ id, currency: "EUR", created_at: text(Date.now()), updated_at: text(Date.now() + 1000 * at), line_items: [line(quantity)] },
    });
    const back = { order_id: 7, created_at: text(Date.now()), refund_line_items: [], transactions: [{ kind: "refund", amount: "500.00" }] };
    expect(await shopify("refunds/create", { ...back, id: 1 })).toMatchObject({ status: 200 });
    // More is paid back than was paid.
    expect(statusesOf(await shopify("orders/updated", order(7, 3, 5)))).toEqual(["applied", "applied"]);
    expect(await rewardOf(ids[0])).toBe(0);
    for (let at = 0; at < 40; at++) expect((await shopify("orders/updated", order(8, (7 * at) % 6, at))).status).toBeLessThan(300);
    expect(await rewardOf(ids[0])).toBe(10 * ((7 * 39) % 6));
  });

  it("a key of a megabyte, and a state of tomorrow", async () => {
    const model = await createModel({ goals });
    const [id] = await show(model, {});
    tick(MINUTE_MS);
    const customer = "k".repeat(1_000_000);
    const order = { id: 1, at: Date.now(), customer, lines: [{ total: 5 }] };
    const sender = {
      secret: "secret-of-a-configured-sender",
      event: "$.id",
      items: "$.lines",
      reward: "total",
      timestamp: "$.at",
      model,
      key: "$.customer",
    };
    expect((await sent("erp", sender, order)).status).toBe(200);
    const metadata = { afterclick: `${id} 500` };
    const tomorrow = { id: "pi_9", status: "teleported", amount_received: 500, metadata };
    expect(await stripe(event("payment_intent.succeeded", tomorrow))).toMatchObject(ignored(/^unknown state: .*"teleported"/));
    expect(await stripe(event("payment_intent.teleported", tomorrow))).toMatchObject({
      status: 200,
      body: { ignored: "payment_intent.teleported" },
    });
    expect(await rewardOf(id)).toBeNull();
  });
});

it("each answer of the documentation's table is given", async () => {
  const { ids } = await shown(2);
  const model = await createModel({ goals });
  await show(model, { keys: ["visitor-7"] }, { keys: ["visitor-7"], action: { id: "hat", features: { brand: "Umbra" } } });
  let orders = 0;
  const erp = {
    secret: "secret-of-a-configured-sender",
    event: "$.id",
    items: "$.lines",
    reward: "total",
    timestamp: "$.at",
    model,
    key: "$.customer",
  };
  const byKey = (customer: string) => sent("erp", erp, { id: ++orders, at: Date.now(), customer, lines: [{ total: 5 }] });
  const amounts = { amount_received: 500, metadata: metadataOf([ids[0]], [500]) };
  const order = (more: object = {}) => intent({ id: `pi_${++orders}`, ...amounts, ...more });
  const unsigned = (path: string, body: string) => call("POST", path, body, { key: null });
  const provoked: Readonly<Record<string, () => Promise<Reply>>> = {
    "202 ": () => stripe(order()),
    "200 ": () => stripe(event("customer.created", {})),
    "200 waits": () => stripe(event("payment_intent.processing", { id: "pi_waits", status: "processing", metadata: amounts.metadata })),
    "200 test mode": () => stripe({ ...order(), livemode: false }),
    "200 unknown state": () => stripe(order({ status: "teleported" })),
    "200 malformed": () => stripe(order({ amount_received: "x" })),
    "200 key": () => byKey("guest"),
    "200 action": () => byKey("visitor-7"),
    "200 currency": () => stripe(order({ currency: "usd" })),
    "200 goal": () => stripe(order(), { query: "?goal=nothing" }),
    "200 reward": () => stripe(order({ amount_received: 10 ** 15, metadata: { afterclick: ids[0] } })),
    "200 timestamp": () => stripe({ ...order(), created: seconds() - 7200 }),
    "200 renewal": () =>
      stripe(
        event("invoice.paid", {
          id: "in_9",
          status: "paid",
          billing_reason: "subscription_cycle",
          amount_paid: 500,
          metadata: { afterclick: ids[0] },
        }),
      ),
    "200 too many lines": () =>
      shopify("orders/paid", {
        id: 9,
        currency: "EUR",
        created_at: text(Date.now()),
        note_attributes: [{ name: "_afterclick", value: ids[1] }],
        line_items: Array.from({ length: 501 }, (_, id) => ({ id, price: "1", quantity: 1 })),
      }),
    "400 ": () => stripe([]),
    "401 ": () => unsigned("/v1/hooks/stripe", "{}"),
    "404 ": () => unsigned("/v1/hooks/nobody", "{}"),
    "413 ": () => unsigned("/v1/hooks/stripe", " ".repeat(2 ** 20 + 1)),
    "422 ": () => unsigned("/v1/hooks/stripe?goal=no+goal", "{}"),
  };
  const table = page.slice(page.indexOf("| answer | reason |"));
  const rows = Array.from(table.matchAll(/^\| (\d{3}) \| (?:`([^`]+)`)? ?\| /gm), ([, status, reason = ""]) => `${status} ${reason}`);
  expect(rows).toEqual(Object.keys(provoked));
  for (const [row, provoke] of Object.entries(provoked)) {
    const { status, body } = await provoke();
    const reason = status === 200 && body.reason ? body.reason.split(":")[0] : "";
    expect(`${status} ${reason}`).toBe(row);
  }
  expect(await rewardOf(ids[0])).toBe(5);
});
