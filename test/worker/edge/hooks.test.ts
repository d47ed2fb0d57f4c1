import { createHmac } from "node:crypto";
import { beforeEach, expect, it } from "vitest";
import { call, createModel, show, stateOf, statusesOf } from "../support/client.ts";
import { MINUTE_MS, tick, useClock } from "../support/clock.ts";
import { complaints } from "../support/complaints.ts";
import { forgetOrders, goals, metadataOf, refund, rewardOf, seconds, session, shopify, shown, stripe } from "../support/sent.ts";
import { stripeSigned } from "../support/stripe-payloads.ts";

// Messages of senders, from their signed payload to what the model has learnt.

useClock();
beforeEach(forgetOrders);

it("stripe: three lines are three conversions, once, and partial refunds in any order leave what they should", async () => {
  const orders = [
    [0, 1, 2],
    [2, 0, 1],
    [1, 2, 0],
  ];
  for (const [run, order] of orders.entries()) {
    const { model, ids } = await shown(3);
    const metadata = metadataOf(ids, [2000, 3550, 425]);
    const before = await stateOf(model);
    const paid = session({ payment_intent: `pi_${run}`, amount_total: 6000, metadata });
    expect(statusesOf(await stripe(paid))).toEqual(["applied", "applied", "applied"]);
    expect((await stateOf(model)).digest).not.toBe(before.digest);
    expect(statusesOf(await stripe(paid))).toEqual(["duplicate", "duplicate", "duplicate"]);
    const intent = { id: `pi_${run}`, amount_received: 6000, currency: "eur", metadata };
    tick(2000);
    await stripe({ type: "payment_intent.succeeded", created: seconds(), data: { object: intent } });
    expect(await Promise.all(ids.map(rewardOf))).toEqual([20, 35.5, 4.25]);
    const totals = [0, 1000, 1777, 6000];
    const charge = { id: `ch_${run}`, amount: 6000, metadata };
    for (const step of order) {
      const reply = await stripe(refund({ ...charge, amount_refunded: totals[step + 1] }, totals[step]));
      expect(reply.status).toBe(202);
    }
    expect(await Promise.all(ids.map(rewardOf))).toEqual([0, 0, 0]);
  }
});

it("stripe: client_reference_id has the whole payment, and a key finds an impression without an id", async () => {
  const { ids } = await shown(1);
  expect(statusesOf(await stripe(session({ payment_intent: "pi_whole", amount_total: 1250, client_reference_id: ids[0] })))).toEqual([
    "applied",
  ]);
  expect(await rewardOf(ids[0])).toBe(12.5);
  const model = await createModel({ goals });
  const [keyed] = await show(model, { keys: ["cus_7"] });
  tick(MINUTE_MS);
  const ofKey = session({ payment_intent: "pi_key", amount_total: 300, customer: "cus_7" });
  expect(statusesOf(await stripe(ofKey, { query: `?model=${model}&key=customer` }))).toEqual(["applied"]);
  expect(await rewardOf(keyed)).toBe(3);
});

it("stripe: a partial refund is divided by the items' amounts, and both secrets of a rotation verify", async () => {
  const { ids } = await shown(3);
  const metadata = metadataOf(ids, [2000, 3550, 450]);
  const AFTERCLICK_STRIPE_SECRET = "whsec_old-secret-of-an-endpoint whsec_new-secret-of-an-endpoint";
  const send = async (message: object, secret: string) => {
    const body = JSON.stringify(message);
    return call("POST", "/v1/hooks/stripe", body, {
      key: null,
      headers: await stripeSigned(body, secret),
      env: { AFTERCLICK_STRIPE_SECRET },
    });
  };
  const paid = session({ payment_intent: "pi_rotated", amount_total: 6000, metadata });
  expect(statusesOf(await send(paid, "whsec_old-secret-of-an-endpoint"))).toEqual(["applied", "applied", "applied"]);
  const half = refund({ id: "ch_rotated", amount: 6000, metadata, amount_refunded: 3000 }, 0);
  expect((await send(half, "whsec_new-secret-of-an-endpoint")).status).toBe(202);
  expect(await Promise.all(ids.map(rewardOf))).toEqual([10, 17.75, 2.25]);
  expect((await send(half, "whsec_another-secret")).status).toBe(401);
});

it("stripe: refuses bad input", async () => {
  const { ids } = await shown(1);
  const paid = (object: object) => session({ payment_intent: "pi_bad", amount_total: 100, client_reference_id: ids[0], ...object });
  expect((await stripe(paid({}), { changed: " " })).status).toBe(401);
  expect((await stripe(paid({}), { at: Date.now() - 301_000 })).status).toBe(401);
  expect((await stripe(paid({}), { at: Date.now() + 302_000 })).status).toBe(401);
  const ignored = (reason: string) => ({ status: 200, body: { reason: expect.stringMatching(new RegExp(`^${reason}`)) } });
  expect(await stripe(paid({ currency: "euro" }))).toMatchObject(ignored("malformed: data.object.currency"));
  expect(await stripe(paid({ currency: "usd" }))).toMatchObject(ignored("currency: expected EUR, got USD"));
  expect(await stripe(paid({ id: undefined }))).toMatchObject(ignored("malformed: data.object.id"));
  const charge = { id: "ch_bad", metadata: { afterclick: `${ids[0]} 100` } };
  expect(await stripe({ type: "charge.refunded", created: 1, data: { object: charge } })).toMatchObject(ignored("malformed"));
  expect(await stripe({ type: "invoice.paid" })).toMatchObject({ status: 200, body: { ignored: "invoice.paid" } });
  expect((await stripe(paid({}), { query: "?key=customer" })).status).toBe(422);
  expect((await call("POST", "/v1/hooks/nobody", {}, { key: null })).status).toBe(404);
});

it("shopify: lines, a refund and a cancellation", async () => {
  const { ids } = await shown(2);
  const at = new Date().toISOString();
  const line = (place: number, price: string, quantity: number) => ({
    ...{ id: 100 + place, price, quantity, discount_allocations: [] },
    properties: [{ name: "_afterclick", value: ids[place] }],
  });
  const line_items = [{ ...line(0, "10.00", 3), discount_allocations: [{ amount: "5.00" }] }, line(1, "8.50", 1)];
  const order = { id: 9, created_at: at, currency: "EUR", note_attributes: [], line_items };
  expect(statusesOf(await shopify("orders/paid", order))).toEqual(["applied", "applied"]);
  expect(statusesOf(await shopify("orders/create", order))).toEqual(["duplicate", "duplicate"]);
  expect(await Promise.all(ids.map(rewardOf))).toEqual([25, 8.5]);
  const set = { shop_money: { amount: "8.25", currency_code: "EUR" } };
  const back = {
    id: 5,
    order_id: 9,
    created_at: at,
    refund_line_items: [{ id: 55, quantity: 1, subtotal: 8.25, subtotal_set: set, line_item: line_items[0] }],
  };
  // The two orders of lines are known already, and one line has a refund.
  expect(statusesOf(await shopify("refunds/create", back))).toEqual(["duplicate", "applied", "duplicate"]);
  expect(await Promise.all(ids.map(rewardOf))).toEqual([16.75, 8.5]);
  expect(statusesOf(await shopify("orders/cancelled", { ...order, cancelled_at: at, refunds: [back] })).toSorted()).toEqual([
    ...["applied", "applied", "duplicate", "duplicate"],
  ]);
  expect(await Promise.all(ids.map(rewardOf))).toEqual([0, 0]);
  expect((await shopify("orders/paid", order, { changed: " " })).status).toBe(401);
  expect(await shopify("orders/cancelled", order)).toMatchObject({
    status: 200,
    body: { ignored: "orders/cancelled", reason: expect.stringContaining("malformed: cancelled_at") },
  });
  expect(await shopify("products/create", {})).toMatchObject({ status: 200, body: { ignored: "products/create" } });
});

it("a configured sender reports lines, and its configuration is checked", async () => {
  const { ids } = await shown(2);
  const erp = {
    ...{ header: "x-signature", encoding: "hex", digest: "sha512", prefix: "sha512=", secret: "secret-of-the-erp-system" },
    ...{ event: "$.id", items: "$.lines", impressionId: "seen", reward: "price.net", currency: "$.currency", timestamp: "$.at" },
  };
  const lines = ids.map((seen, place) => ({ seen, price: { net: `${place + 1}.50` } }));
  const send = (payload: object, AFTERCLICK_SENDERS = JSON.stringify({ erp }), changed = "") => {
    const body = JSON.stringify(payload);
    const signature = `sha512=${createHmac("sha512", erp.secret).update(body).digest("hex")}`;
    return call("POST", "/v1/hooks/erp", body + changed, { key: null, headers: { "x-signature": signature }, env: { AFTERCLICK_SENDERS } });
  };
  const order = { id: "A-1", currency: "EUR", at: Date.now(), lines };
  expect(statusesOf(await send(order))).toEqual(["applied", "applied"]);
  expect(statusesOf(await send(order))).toEqual(["duplicate", "duplicate"]);
  expect(await Promise.all(ids.map(rewardOf))).toEqual([1.5, 2.5]);
  expect(statusesOf(await send({ ...order, id: "A-1-return", lines: [{ seen: ids[0], price: { net: -1.5 } }] }))).toEqual(["applied"]);
  expect(await rewardOf(ids[0])).toBe(0);
  expect((await send(order, undefined, " ")).status).toBe(401);
  expect(await send({ ...order, id: undefined })).toMatchObject({ status: 200, body: { reason: expect.stringContaining("$.id") } });
  expect(await send({ ...order, id: "A-2", lines: [{ seen: ids[0] }] })).toMatchObject({
    status: 200,
    body: { reason: expect.stringContaining("$.lines[0]: price.net") },
  });
  for (const wrong of [
    "{",
    "[]",
    JSON.stringify({ erp: { ...erp, event: undefined } }),
    JSON.stringify({ erp: { ...erp, secret: "short" } }),
  ]) {
    expect(await send(order, wrong)).toMatchObject({ status: 500, body: { detail: expect.stringContaining("AFTERCLICK_SENDERS") } });
    expect(complaints()).toEqual([expect.stringContaining("AFTERCLICK_SENDERS")]);
  }
});

it("an amount beyond the range, or that is no decimal number, is refused, and other lines count", async () => {
  const { model, ids } = await shown(2);
  const lines = (price: string) =>
    ids.map((id, place) => {
      return { id: 70 + place, price: place === 0 ? price : "20", quantity: 1, properties: [{ name: "_afterclick", value: id }] };
    });
  const order = (price: string) => ({ id: 7, currency: "EUR", created_at: new Date().toISOString(), line_items: lines(price) });
  expect(statusesOf(await shopify("orders/paid", order("1e101")))).toEqual(["applied", "refused"]);
  expect(await shopify("orders/paid", order(""))).toMatchObject({
    body: { conversions: [{ status: "duplicate" }, { status: "refused", detail: expect.stringContaining("line_items.0: price") }] },
  });
  expect(await rewardOf(ids[1])).toBe(20);
  expect(statusesOf(await shopify("orders/paid", order("9".repeat(18)))).toSorted()).toEqual(["duplicate", "refused"]);
  const yen = session({ payment_intent: "pi_yen", amount_total: 10 ** 15, currency: "eur", client_reference_id: ids[0] });
  expect(await stripe(yen)).toMatchObject({ status: 200, body: { reason: expect.stringMatching(/reward: expected a number between/) } });
  expect(await stateOf(model)).toMatchObject({ counts: { applied: 1, converted: 1 } });
});
