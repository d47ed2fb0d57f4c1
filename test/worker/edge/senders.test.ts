import * as v from "valibot";
import { beforeEach, expect, it } from "vitest";
import { type Clock, senderTime } from "../../../worker/edge/senders/sender-time.ts";
import { call, createModel, show, stateOf, statusesOf } from "../support/client.ts";
import { MINUTE_MS, tick, useClock } from "../support/clock.ts";
import { complaints } from "../support/complaints.ts";
import { failing, learners } from "../support/fault.ts";
import { expectConsistent } from "../support/fold.ts";
import { forgetOrders, goals, metadataOf, refund, rewardOf, seconds, sent, session, shopify, shown, stripe } from "../support/sent.ts";

// Orders as senders report them: in their own times, more than once, revised, refunded in sums, or about something else.

useClock();
beforeEach(forgetOrders);

const secret = "secret-of-a-configured-sender";
const shop = { secret, event: "$.id", items: "$.lines", impressionId: "seen", reward: "total", timestamp: "$.at" };

/** Permutations of a list. */
const orders = <T>(list: readonly T[]): T[][] =>
  list.length < 2 ? [[...list]] : list.flatMap((each, i) => orders(list.toSpliced(i, 1)).map((rest) => [each, ...rest]));

const text = (at: number) => new Date(at).toISOString();

it.each([
  ["seconds", { unit: "seconds" }, (at: number) => at / 1000],
  ["seconds as a text", { unit: "seconds" }, (at: number) => `${at / 1000}`],
  ["milliseconds as a text", { unit: "milliseconds" }, (at: number) => `${at}`],
  ["microseconds", { unit: "microseconds" }, (at: number) => at * 1000],
  ["a time without a zone", { zone: "UTC" }, (at: number) => text(at).slice(0, 19)],
  ["a time with a space and no zone", { zone: "Z" }, (at: number) => text(at).slice(0, 19).replace("T", " ")],
  ["a time of an offset", { zone: "-03:30" }, (at: number) => text(at - 3.5 * 3_600_000).slice(0, 19)],
  ["summer time", { zone: "Europe/Berlin" }, (at: number) => text(at + 7_200_000).slice(0, 19), "2026-07-01T10:00:00Z"],
  ["winter time", { zone: "America/New_York" }, (at: number) => text(at - 5 * 3_600_000).slice(0, 19), "2026-12-01T10:00:00Z"],
  ["a time with a zone, beside a stated one", { zone: "Asia/Tokyo" }, (at: number) => text(at)],
  ["an offset of hours alone", {}, (at: number) => `${text(at + 7_200_000).slice(0, 19)}+02`],
  ["a time as in mails", {}, (at: number) => new Date(at).toUTCString()],
])("a configured sender's clock: %s", (_, clock, stated, now = "2026-07-01T10:00:00Z") => {
  expect(v.parse(senderTime(clock as Clock), stated(Date.parse(now)))).toBe(Date.parse(now));
});

it("an hour that a change of clocks repeats is its first, and one that it skips is read as before it", () => {
  for (const [local, utc] of [
    ["2026-10-25T02:30:00", "2026-10-25T00:30:00Z"],
    ["2027-03-28T02:30:00", "2027-03-28T01:30:00Z"],
  ]) {
    expect(v.parse(senderTime({ zone: "Europe/Berlin" }), local)).toBe(Date.parse(utc));
  }
});

it("a time in another unit or without a zone is refused with the remedy of the configuration", async () => {
  const { ids } = await shown(1);
  const order = (at: unknown) => ({ id: 1, at, lines: [{ seen: ids[0], total: 5 }] });
  for (const [at, clock] of [
    [seconds(), {}],
    [`${seconds()}`, {}],
    [text(Date.now()).slice(0, 19), {}],
    [Date.now(), { unit: "seconds" }],
    [seconds(), { unit: "milliseconds" }],
  ] as const) {
    expect(await sent("erp", { ...shop, ...clock }, order(at))).toMatchObject({
      status: 200,
      body: { reason: expect.stringMatching(/\$\.at.*State the "unit".*"zone".*AFTERCLICK_SENDERS/) },
    });
  }
  for (const wrong of [{ zone: "Europe/Atlantis" }, { unit: "hours" }]) {
    expect(await sent("erp", { ...shop, ...wrong }, order(Date.now()))).toMatchObject({ status: 500 });
    expect(complaints()).toEqual([`AFTERCLICK_SENDERS: sender 1: ${Object.keys(wrong)}`]);
  }
  expect(await rewardOf(ids[0])).toBeNull();
});

it("a message without an impression is ignored, whatever else it lacks", async () => {
  const ignored = (type: unknown) => ({ status: 200, body: { ignored: type } });
  const setup = { mode: "setup", payment_status: "no_payment_required", currency: null, amount_total: null, payment_intent: null };
  expect(await stripe(session({ ...setup, metadata: {} }))).toMatchObject(ignored("checkout.session.completed"));
  const { ids } = await shown(1);
  expect(await stripe(session({ ...setup, metadata: metadataOf(ids, [1]) }))).toMatchObject(ignored("checkout.session.completed"));
  const unpaid = { payment_status: "unpaid", amount_total: null, currency: null, metadata: metadataOf(ids, [1]) };
  expect(await stripe(session(unpaid))).toMatchObject(ignored("checkout.session.completed"));
  for (const type of ["payment_intent.succeeded", "charge.refunded", "checkout.session.completed"]) {
    expect(await stripe({ type, data: { object: { metadata: { cart: "7" } } } })).toMatchObject(ignored(type));
  }
  for (const payload of [{}, { line_items: null }, { line_items: [{ price: "" }, null] }, { order_edit: { id: 1, line_items: {} } }]) {
    for (const topic of ["orders/create", "orders/edited", "orders/cancelled", "refunds/create"]) {
      expect(await shopify(topic, payload)).toMatchObject(ignored(topic));
    }
  }
  for (const payload of [{}, { lines: [] }, { lines: [{ total: "x" }, 7, null] }, []]) {
    expect(await sent("erp", shop, payload)).toMatchObject(ignored("erp without an impression"));
  }
});

it("a line without an impression may lack anything, beside one that has one", async () => {
  const { ids } = await shown(1);
  const line = { id: 1, price: "8.00", quantity: 1, properties: [{ name: "_afterclick", value: ids[0] }] };
  const order = { id: 1, currency: "EUR", created_at: text(Date.now()), line_items: [{ id: null, price: "" }, line] };
  expect(statusesOf(await shopify("orders/create", order))).toEqual(["applied"]);
  expect(await rewardOf(ids[0])).toBe(8);
});

const shopifyOrder = (ids: readonly string[], prices: readonly number[], changes: object = {}) => ({
  ...{ id: 1, currency: "EUR", created_at: text(Date.now()) },
  line_items: ids.map((value, place) => {
    return { id: 10 + place, price: String(prices[place]), quantity: 1, properties: [{ name: "_afterclick", value }] };
  }),
  ...changes,
});

it.each(["orders/paid", "orders/edited", "orders/updated"])("shopify: %s revises orders/create, in either order", async (topic) => {
  for (const revision of [{}, { updated_at: 60_000 }]) {
    for (const order of orders([40, 30])) {
      const { model, ids } = await shown(1);
      const at = Date.now();
      tick(2 * MINUTE_MS);
      const state = (price: number) => {
        const updated = revision.updated_at && price === 30 ? { updated_at: text(at + revision.updated_at) } : {};
        return shopifyOrder(ids, [price], { created_at: text(at), ...updated });
      };
      const statuses = [];
      for (const price of order) statuses.push(...statusesOf(await shopify(price === 30 ? topic : "orders/create", state(price))));
      expect(statuses).toEqual(["applied", order[0] === 30 ? "duplicate" : "applied"]);
      expect(await rewardOf(ids[0])).toBe(30);
      expect((await stateOf(model)).counts).toMatchObject({ conflict: 0, converted: 1 });
      expect(statusesOf(await shopify(topic, state(30)))).toEqual(["duplicate"]);
      await expectConsistent(model);
    }
  }
});

it("a configured sender's revisions count in any order, and lines are known by their ids", async () => {
  const sender = { ...shop, revised: "$.modified", line: "sku" };
  const digests = new Set<unknown>();
  const at = Date.now() + 2 * MINUTE_MS;
  for (const order of orders([40, 30, 35])) {
    const { ids } = await shown(2);
    const modified = { 40: at, 30: at + 20, 35: at + 50_000 };
    tick(Math.max(at + MINUTE_MS - Date.now(), 0));
    for (const total of order) {
      const lines = [
        { seen: ids[0], sku: "a", total },
        { seen: ids[1], sku: "b", total: 7 },
      ].toSorted(() => total - 35);
      const reply = await sent("erp", sender, { id: 5, at, modified: modified[total as keyof typeof modified], lines });
      expect(statusesOf(reply)).not.toContain("conflict");
    }
    expect(await Promise.all(ids.map(rewardOf))).toEqual([35, 7]);
    digests.add(JSON.stringify(await Promise.all(ids.map(rewardOf))));
  }
  expect(digests.size).toBe(1);
});

it("a record that is reported again at another time is a duplicate", async () => {
  for (const reversed of [false, true]) {
    const { model, ids } = await shown(1);
    const metadata = metadataOf(ids, [2000]);
    const now = seconds();
    const paid = { ...session({ payment_intent: "pi_1", amount_total: 2000, metadata }), created: now - 5 };
    const intent = {
      ...{ type: "payment_intent.succeeded", created: now },
      data: { object: { id: "pi_1", amount_received: 2000, currency: "eur", metadata } },
    };
    const [first, second] = reversed ? [intent, paid] : [paid, intent];
    expect(statusesOf(await stripe(first))).toEqual(["applied"]);
    expect(statusesOf(await stripe(second))).toEqual(["duplicate"]);
    expect((await stateOf(model)).counts.conflict).toBe(0);
    expect((await call("GET", `/v1/impressions/${ids[0]}`)).body).toMatchObject({ reward: 20 });
    await expectConsistent(model);
  }
  const { ids } = await shown(1);
  const order = () => ({ id: 9, at: Date.now(), lines: [{ seen: ids[0], total: 5 }] });
  expect(statusesOf(await sent("erp", shop, order()))).toEqual(["applied"]);
  tick(1000);
  expect(statusesOf(await sent("erp", shop, order()))).toEqual(["duplicate"]);
});

it("of two reports of one revision the greater amount counts, in either order", async () => {
  for (const totals of [
    [5, 4],
    [4, 5],
  ]) {
    const { ids } = await shown(1);
    const at = 1000 * seconds();
    for (const total of totals) await sent("erp", shop, { id: 9, at, lines: [{ seen: ids[0], total }] });
    expect(await rewardOf(ids[0])).toBe(5);
  }
});

const amountRefund = (amount: number, changes: object = {}) => ({
  ...{ id: 90, order_id: 1, created_at: text(Date.now()), refund_line_items: [] },
  ...{ order_adjustments: [{ kind: "refund_discrepancy", amount: (-amount).toFixed(2) }] },
  ...{ transactions: [{ kind: "refund", status: "success", amount: amount.toFixed(2) }] },
  ...changes,
});

it.each([
  ["after the order", "refunds/create", {}],
  ["before the order", "refunds/create", {}],
  ["as payments alone", "refunds/create", { order_adjustments: [] }],
  ["inside the order", "orders/updated", {}],
])("shopify: a refund of an amount is divided among the lines: %s", async (when, topic, changes) => {
  const { ids } = await shown(3);
  const id = `order-${when.replaceAll(" ", "-")}`;
  const order = shopifyOrder(ids, [20, 35.5, 4.5], { id });
  const back = (amount: number, refund: string) => {
    const own = amountRefund(amount, { id: refund, order_id: id, ...changes });
    return topic === "refunds/create" ? shopify(topic, own) : shopify(topic, { ...order, refunds: [own] });
  };
  if (when === "before the order") {
    expect((await back(30, "r1")).status).toBe(200);
    await shopify("orders/create", order);
  } else {
    await shopify("orders/create", order);
    await back(30, "r1");
  }
  expect(await Promise.all(ids.map(rewardOf))).toEqual([10, 17.75, 2.25]);
  await back(30, "r1");
  expect(await Promise.all(ids.map(rewardOf))).toEqual([10, 17.75, 2.25]);
  await back(30, "r2");
  expect(await Promise.all(ids.map(rewardOf))).toEqual([0, 0, 0]);
});

it("an order that cannot be stored is asked for again, and then counts once", async () => {
  const { ids } = await shown(1);
  const env = { LEARNER: learners(failing("takeOrder")) };
  const order = shopifyOrder(ids, [20], { id: "order-down" });
  const back = amountRefund(5, { order_id: "order-down" });
  for (const [topic, message] of [
    ["orders/create", order],
    ["refunds/create", back],
  ] as const) {
    const { status, body } = await shopify(topic, message, { env });
    expect([status, body.detail]).toEqual([503, "the learner cannot be reached"]);
  }
  expect(await rewardOf(ids[0])).toBeNull();
  await shopify("refunds/create", back);
  await shopify("orders/create", order);
  expect(await rewardOf(ids[0])).toBe(15);
});

it("an order and its refund that come at the same time find each other", async () => {
  const { ids } = await shown(1);
  const back = (id: number) => shopify("refunds/create", amountRefund(5, { id, order_id: "order-race" }));
  await Promise.all([back(1), shopify("orders/create", shopifyOrder(ids, [20], { id: "order-race" })), back(2)]);
  expect(await rewardOf(ids[0])).toBe(10);
});

it("shopify: a refund finds the impressions of the cart, and its difference changes its lines", async () => {
  const { ids } = await shown(1);
  const line_items = [1, 2].map((id) => ({ id, price: "20.00", quantity: 1 }));
  const note_attributes = [{ name: "_afterclick", value: ids[0] }];
  const order = { ...shopifyOrder([], []), id: "cart-1", note_attributes, line_items };
  expect(statusesOf(await shopify("orders/create", order))).toEqual(["applied", "applied"]);
  const item = { id: 5, subtotal: "20.00", line_item: line_items[0] };
  const kept = [
    { kind: "refund_discrepancy", amount: "5.00" },
    { kind: "shipping_refund", amount: "-4.00" },
  ];
  const back = amountRefund(0, { order_id: "cart-1", refund_line_items: [item], order_adjustments: kept });
  expect((await shopify("refunds/create", back)).status).toBe(202);
  expect(await rewardOf(ids[0])).toBe(25);
  const wrong = amountRefund(0, { id: 91, order_id: "cart-1", order_adjustments: [{ amount: "" }] });
  expect(await shopify("refunds/create", wrong)).toMatchObject({
    status: 200,
    body: { reason: expect.stringMatching(/^malformed: .*order_adjustments/) },
  });
  const alone = amountRefund(9, { id: 92, order_id: "unknown", transactions: [{ amount: "" }] });
  expect(await shopify("refunds/create", alone)).toMatchObject({ status: 200, body: { ignored: "refunds/create" } });
});

it("an id that cannot be used hides neither another id nor a key", async () => {
  for (const unusable of ["undefined", "null", "", " ", "NaN", "[object Object]", "sku-7", null, 7, {}]) {
    await forgetOrders();
    const model = await createModel({ goals });
    const [own, keyed] = await show(model, {}, { keys: ["c-1"] });
    tick(MINUTE_MS);
    const properties = [{ name: "_afterclick", value: unusable }];
    const order = shopifyOrder([], [], { customer: { id: "c-1" }, line_items: [{ id: 1, price: "5", quantity: 1, properties }] });
    const query = `?model=${model}&key=$.customer.id`;
    expect(statusesOf(await shopify("orders/create", order, { query }))).toEqual(["applied"]);
    expect(await rewardOf(keyed)).toBe(5);
    const ofCart = { ...order, note_attributes: [{ name: "_afterclick", value: own }], line_items: [{ ...order.line_items[0], id: 2 }] };
    expect(statusesOf(await shopify("orders/create", ofCart, { query }))).toEqual(["applied"]);
    expect(await rewardOf(own)).toBe(5);
    const sender = { ...shop, model, key: "$.customer" };
    const line = { seen: unusable, total: 3 };
    expect(statusesOf(await sent("erp", sender, { id: 3, customer: "c-1", at: Date.now(), lines: [line] }))).toEqual(["applied"]);
    expect(await rewardOf(keyed)).toBe(8);
  }
  const { ids } = await shown(1);
  const metadata = { afterclick: "undefined 500" };
  const paid = session({ payment_intent: "pi_ids", amount_total: 500, metadata, client_reference_id: ids[0] });
  expect(statusesOf(await stripe(paid))).toEqual(["applied"]);
  expect(await rewardOf(ids[0])).toBe(5);
});

it("a text for a missing value is no key", async () => {
  const model = await createModel({ goals });
  await show(model, {});
  const order = { id: 1, at: Date.now(), customer: "undefined", lines: [{ total: 5 }] };
  const sender = { ...shop, model, key: "$.customer" };
  expect(await sent("erp", sender, order)).toMatchObject({
    status: 200,
    body: {
      ignored: "erp order",
      reason: expect.stringContaining('expected a key of one visitor or order, got "undefined"'),
    },
  });
  expect(statusesOf(await sent("erp", shop, { ...order, id: 2, lines: [{ seen: "cut-id", total: 5 }] }))).toEqual(["unknown"]);
});

it("ids beyond 2^53 stay apart", async () => {
  const { model, ids } = await shown(1);
  const order = (id: string, line: string) =>
    `{"id":${id},"currency":"EUR","created_at":"${text(Date.now())}","line_items":[{"id":${line},"price":"5","quantity":1,"properties":[{"name":"_afterclick","value":"${ids[0]}"}]}]}`;
  expect(statusesOf(await shopify("orders/create", order("1", "9007199254740993")))).toEqual(["applied"]);
  expect(statusesOf(await shopify("orders/create", order("2", "9007199254740992")))).toEqual(["applied"]);
  expect(statusesOf(await shopify("orders/create", order("2", "9007199254740992")))).toEqual(["duplicate"]);
  expect(await rewardOf(ids[0])).toBe(10);
  const lines = `"at":${Date.now()},"lines":[{"seen":"${ids[0]}","total":1}]`;
  for (const id of ["12345678901234567890", "12345678901234567891", "1e400", "1e500", "0.12345678901234567", "0.12345678901234568"])
    expect(statusesOf(await sent("erp", shop, `{"id":${id},${lines}}`))).toEqual(["applied"]);
  expect(await rewardOf(ids[0])).toBe(16);
  const [a] = await show(model, { keys: ["12345678901234567890"] });
  tick(1000);
  const keyed = { ...shop, impressionId: undefined, model, key: "$.customer" };
  const message = (customer: string) => `{"id":"k","customer":${customer},"at":${Date.now()},"lines":[{"total":29.950000000000003}]}`;
  expect(statusesOf(await sent("erp", keyed, message("12345678901234567891")))).toEqual(["orphan"]);
  expect(statusesOf(await sent("erp", keyed, message("12345678901234567890")))).toEqual(["applied"]);
  expect(await rewardOf(a)).toBeCloseTo(29.95, 3);
});

it("a captured message counts once, whatever goal its address names", async () => {
  const model = await createModel({ goals: { ...goals, order: { weight: 1, value: { currency: "EUR" } } } });
  const [own, keyed] = await show(model, {}, { keys: ["c-1"] });
  tick(MINUTE_MS);
  const captured = shopifyOrder([own], [40]);
  const byKey = shopifyOrder([], [], { id: 2, customer: "c-1", line_items: [{ id: 20, price: "40", quantity: 1 }] });
  const key = `&model=${model}&key=$.customer`;
  expect(statusesOf(await shopify("orders/create", captured))).toEqual(["applied"]);
  expect(statusesOf(await shopify("orders/create", byKey, { query: `?goal=purchase${key}` }))).toEqual(["applied"]);
  await show(model, { keys: ["c-1"] });
  tick(MINUTE_MS);
  for (const goal of ["order", "purchase"]) {
    expect(statusesOf(await shopify("orders/create", captured, { query: `?goal=${goal}` }))).toEqual(["duplicate"]);
    expect(statusesOf(await shopify("orders/create", byKey, { query: `?goal=${goal}${key}` }))).toEqual(["duplicate"]);
  }
  expect(await Promise.all([own, keyed].map(rewardOf))).toEqual([40, 40]);
  expect((await stateOf(model)).counts).toMatchObject({ applied: 2, converted: 2 });
});

it.each(["", " ", "0x10", "1e3", "1,50", "+", ".", "Infinity", null, true, []])(
  "an amount %j is refused, and its line alone",
  async (price) => {
    const { ids } = await shown(2);
    const order = shopifyOrder(ids, [1, 2]);
    const [line, other] = order.line_items;
    for (const changed of [{ price }, { discount_allocations: [{ amount: price }] }]) {
      const reply = await shopify("orders/create", { ...order, line_items: [{ ...line, ...changed }, other] });
      expect(reply).toMatchObject({
        status: 202,
        body: { conversions: [{ impressionId: ids[1] }, { status: "refused", impressionId: ids[0] }] },
      });
    }
    const malformed = { status: 200, body: { reason: expect.stringMatching(/^malformed: /) } };
    const item = { id: 1, subtotal: price, line_item: line };
    expect(await shopify("refunds/create", amountRefund(0, { refund_line_items: [item] }))).toMatchObject(malformed);
    expect(await sent("erp", shop, { id: 1, at: Date.now(), lines: [{ seen: ids[0], total: price }] })).toMatchObject(malformed);
    expect(await Promise.all(ids.map(rewardOf))).toEqual([null, 2]);
  },
);

it("stripe: a refund in proportion is unaffected by a line without an impression", async () => {
  const { ids } = await shown(1);
  const metadata = { ...metadataOf(ids, [3000]), afterclick_9: "undefined 1000" };
  await stripe(session({ payment_intent: "pi_part", amount_total: 4000, metadata }));
  await stripe(refund({ id: "ch_part", amount: 4000, metadata, amount_refunded: 2000 }, 0));
  expect(await rewardOf(ids[0])).toBe(15);
});
