import { beforeEach, describe, expect, it, vi } from "vitest";
import { call, createModel, type Reply, show } from "../support/client.ts";
import { MINUTE_MS, tick, useClock } from "../support/clock.ts";
import { event, FORM, ignored, intent, modified, stockOrder, text, woocommerce } from "../support/orders.ts";
import { forgetOrders, goals, rewardOf, seconds, session, shopify, shown, stripe } from "../support/sent.ts";

// Orders as the vendors report them in their stock payloads: each state, and what no repetition can mend.

useClock();
beforeEach(forgetOrders);
beforeEach(() => void vi.spyOn(console, "info").mockReturnValue());

const charge = (type: string, object: object) =>
  event(type, { id: "ch_1", object: "charge", payment_intent: "pi_1", amount: 4000, amount_captured: 4000, amount_refunded: 0, ...object });

/** Sends messages in an order and in its reverse, each twice, and expects the same reward. */
async function expectReward(messages: (id: string) => readonly (() => Promise<Reply>)[], reward: number | null): Promise<void> {
  for (const reversed of [false, true]) {
    const { ids } = await shown(1);
    const all = messages(ids[0]);
    for (const send of reversed ? all.toReversed() : all) {
      expect((await send()).status).toBeLessThan(300);
      await send();
    }
    // An order that is cancelled before it is known never had an amount.
    expect((await rewardOf(ids[0])) ?? (reversed && reward === 0 ? 0 : null)).toBe(reward);
  }
}

describe("stripe", () => {
  const half = (id: string) => ({ metadata: { afterclick: `${id} 4000` } });
  it.each<[what: string, reward: number | null, messages: (id: string) => readonly object[]]>([
    ["a payment", 40, (id) => [intent({ amount_received: 4000, ...half(id) })]],
    [
      "a payment that states shipping and taxes",
      30,
      (id) => [
        intent({ amount_received: 4000, amount_details: { shipping: { amount: 600 }, tax: { total_tax_amount: 400 } }, ...half(id) }),
      ],
    ],
    ["a partial capture", 15, (id) => [intent({ amount: 4000, amount_received: 1500, ...half(id) })]],
    [
      "a partial capture whose rest is released",
      15,
      (id) => [
        event("payment_intent.amount_capturable_updated", { id: "pi_1", status: "requires_capture", amount: 4000, ...half(id) }),
        charge("charge.captured", { captured: true, amount_captured: 1500, amount_refunded: 2500, ...half(id) }),
      ],
    ],
    [
      "a capture in part, then a refund of a part",
      10,
      (id) => [
        intent({ amount_received: 1500, ...half(id) }),
        charge("charge.refunded", { created: seconds(), amount_captured: 1500, amount_refunded: 3000, ...half(id) }),
      ],
    ],
    [
      "an authorisation that was never captured",
      null,
      (id) => [
        event("payment_intent.amount_capturable_updated", { id: "pi_1", status: "requires_capture", ...half(id) }),
        charge("charge.succeeded", { captured: false, ...half(id) }),
        event("payment_intent.canceled", { id: "pi_1", status: "canceled", ...half(id) }, { created: seconds() + 9 }),
      ],
    ],
    [
      "a discount, shipping and taxes apart",
      30,
      (id) => [
        session({
          payment_intent: "pi_1",
          amount_subtotal: 4000,
          amount_total: 4300,
          total_details: { amount_discount: 1000, amount_shipping: 700, amount_tax: 600 },
          ...half(id),
        }),
        intent({ amount_received: 4300, ...half(id) }),
      ],
    ],
    [
      "a delayed payment that fails",
      null,
      (id) => [
        session({ payment_intent: "pi_1", payment_status: "unpaid", amount_total: 4000, ...half(id) }),
        event("checkout.session.async_payment_failed", { id: "cs_1", payment_intent: "pi_1", ...half(id) }, { created: seconds() + 99 }),
      ],
    ],
    [
      "a refund that fails",
      40,
      (id) => [
        intent({ amount_received: 4000, ...half(id) }),
        charge("charge.refunded", { created: seconds(), amount_refunded: 4000, ...half(id) }),
        event("refund.created", {
          id: "re_1",
          amount: 4000,
          payment_intent: "pi_1",
          charge: "ch_1",
          status: "pending",
          created: seconds(),
        }),
        event(
          "refund.failed",
          { id: "re_1", amount: 4000, payment_intent: "pi_1", status: "failed", created: seconds() },
          { created: seconds() + 5 },
        ),
      ],
    ],
    [
      "a refund of a session that names the impression alone",
      25,
      (id) => [
        session({ payment_intent: "pi_1", amount_total: 4000, client_reference_id: id }),
        intent({ amount_received: 4000, metadata: {} }),
        charge("charge.refunded", { amount_refunded: 1500, metadata: {} }),
      ],
    ],
    [
      "a dispute that is lost",
      0,
      (id) => [
        intent({ amount_received: 4000, ...half(id) }),
        event("charge.dispute.created", { id: "dp_1", amount: 4000, payment_intent: "pi_1", status: "needs_response" }),
        event("charge.dispute.closed", { id: "dp_1", amount: 4000, payment_intent: "pi_1", status: "lost" }, { created: seconds() + 5 }),
      ],
    ],
    [
      "a dispute that is won",
      40,
      (id) => [
        intent({ amount_received: 4000, ...half(id) }),
        event("charge.dispute.created", { id: "dp_1", amount: 4000, payment_intent: "pi_1", status: "needs_response" }),
        event("charge.dispute.closed", { id: "dp_1", amount: 4000, payment_intent: "pi_1", status: "won" }, { created: seconds() + 5 }),
      ],
    ],
    [
      "a subscription, whose invoice names its payment apart",
      29,
      (id) => [
        event("invoice.paid", {
          ...{ id: "in_1", status: "paid", billing_reason: "subscription_create", amount_paid: 4000, total: 4000 },
          parent: { type: "subscription_details", subscription_details: { subscription: "sub_1", metadata: { afterclick: id } } },
        }),
        event("invoice_payment.paid", { id: "inpay_1", invoice: "in_1", payment: { type: "payment_intent", payment_intent: "pi_1" } }),
        charge("charge.refunded", { amount_refunded: 1100, metadata: {} }),
      ],
    ],
    [
      "a subscription of an older version of the interface",
      40,
      (id) => [
        session({ mode: "subscription", invoice: "in_1", subscription: "sub_1", amount_total: 4000, client_reference_id: id }),
        event("invoice.payment_succeeded", {
          ...{ id: "in_1", status: "paid", billing_reason: "subscription_create", amount_paid: 4000, payment_intent: "pi_1" },
          subscription_details: { metadata: { afterclick: id } },
        }),
      ],
    ],
  ])("%s: %s", async (_, reward, messages) => {
    await expectReward((id) => messages(id).map((message) => () => stripe(message)), reward);
  });

  it("a renewal counts if the goal says so", async () => {
    for (const [renewals, reward] of [
      [undefined, null],
      ["first", null],
      ["all", 40],
    ] as const) {
      await forgetOrders();
      const model = await createModel({ goals: { purchase: { ...goals.purchase, renewals } } });
      const [id] = await show(model, {});
      tick(MINUTE_MS);
      const metadata = { afterclick: id };
      const invoice = { id: "in_2", status: "paid", billing_reason: "subscription_cycle", amount_paid: 4000, metadata };
      const line = { id: 1, price: "40.00", quantity: 1, properties: [{ name: "_afterclick", value: id }] };
      const billed = { id: 55, currency: "EUR", created_at: text(Date.now()), source_name: "subscription_contract", line_items: [line] };
      const replies = [
        await stripe(event("invoice.paid", invoice)),
        await shopify("orders/create", billed),
        await woocommerce("order.created", stockOrder(id, { created_via: "subscription" })),
        await woocommerce("order.created", stockOrder(id, { id: 728, meta_data: [{ id: 1, key: "_subscription_renewal", value: "12" }] })),
      ];
      if (reward === null) for (const reply of replies) expect(reply).toMatchObject(ignored(/^renewal: /));
      expect(await rewardOf(id)).toBe(reward && 4 * reward);
    }
  });
});

describe("shopify", () => {
  const order = (id: string, more: object = {}, line: object = {}) => ({
    ...{ id: 1001, currency: "EUR", created_at: text(Date.now()), updated_at: text(Date.now()), test: false, financial_status: "paid" },
    ...{ note_attributes: [], refunds: [], customer: null, cancelled_at: null, taxes_included: true },
    line_items: [
      {
        ...{ id: 11, product_id: 1, price: "40.00", quantity: 2, current_quantity: 2, discount_allocations: [] },
        ...{ properties: [{ name: "_afterclick", value: id }], tax_lines: [], ...line },
      },
    ],
    ...more,
  });
  const later = (seconds: number) => ({ updated_at: text(Date.now() + 1000 * seconds) });
  const back = { id: 5, order_id: 1001, created_at: text(Date.now()), order_adjustments: [], transactions: [] };
  const unit = { ...back, refund_line_items: [{ id: 55, quantity: 1, subtotal: "40.00", line_item: { id: 11 } }] };

  it.each<[what: string, reward: number | null, messages: (id: string) => readonly [string, object][]]>([
    [
      "an edit",
      40,
      (id) => [
        ["orders/create", order(id)],
        ["orders/updated", order(id, later(2), { current_quantity: 1 })],
      ],
    ],
    [
      "an edit, and a refund of the other unit",
      0,
      (id) => [
        ["orders/create", order(id)],
        ["orders/updated", order(id, later(2), { current_quantity: 1 })],
        ["refunds/create", unit],
        ["orders/updated", order(id, { ...later(4), financial_status: "partially_refunded", refunds: [unit] }, { current_quantity: 0 })],
      ],
    ],
    [
      "a refund of a unit",
      40,
      (id) => [
        ["orders/create", order(id)],
        ["refunds/create", unit],
        ["orders/updated", order(id, { ...later(2), refunds: [unit] }, { current_quantity: 1 })],
      ],
    ],
    ["an unpaid order", null, (id) => [["orders/create", order(id, { financial_status: "pending" })]]],
    [
      "an authorised order that is voided",
      null,
      (id) => [
        ["orders/create", order(id, { financial_status: "authorized" })],
        ["orders/updated", order(id, { ...later(2), financial_status: "voided" })],
      ],
    ],
    [
      "an order that is paid in part",
      20,
      (id) => [["orders/create", order(id, { financial_status: "partially_paid", total_price: "80.00", total_outstanding: "60.00" })]],
    ],
    [
      "an order that is paid in part, then wholly",
      80,
      (id) => [
        ["orders/create", order(id, { financial_status: "partially_paid", total_price: "80.00", total_outstanding: "60.00" })],
        ["orders/paid", order(id, later(2))],
      ],
    ],
    [
      "a cancelled order",
      0,
      (id) => [
        ["orders/create", order(id)],
        ["orders/cancelled", order(id, { ...later(2), cancelled_at: text(Date.now()) })],
      ],
    ],
    ["included taxes", 64, (id) => [["orders/create", order(id, {}, { tax_lines: [{ price: "16.00" }] })]]],
    ["taxes on top", 80, (id) => [["orders/create", order(id, { taxes_included: false }, { tax_lines: [{ price: "16.00" }] })]]],
    [
      "a refund with included taxes",
      32,
      (id) => [
        ["orders/create", order(id, {}, { tax_lines: [{ price: "16.00" }] })],
        ["refunds/create", unit],
      ],
    ],
    [
      "a dispute that is won",
      80,
      (id) => [
        ["orders/create", order(id)],
        ["disputes/create", { id: 9, order_id: 1001, type: "chargeback", amount: "80.00", status: "won" }],
      ],
    ],
  ])("%s: %s", async (_, reward, messages) => {
    await expectReward(
      (id) =>
        messages(id).map(
          ([topic, payload]) =>
            () =>
              shopify(topic, payload),
        ),
      reward,
    );
  });

  it("taxes count if the worker says gross", async () => {
    for (const [included, reward] of [
      [true, 80],
      [false, 96],
    ] as const) {
      const { ids } = await shown(1);
      const payload = order(ids[0], { taxes_included: included }, { tax_lines: [{ price: "16.00" }] });
      await shopify("orders/create", payload, { env: { AFTERCLICK_AMOUNTS: "gross" } });
      expect(await rewardOf(ids[0])).toBe(reward);
    }
  });

  it("a test order counts only if the worker says so", async () => {
    const { ids } = await shown(1);
    expect(await shopify("orders/create", order(ids[0], { test: true }))).toMatchObject(ignored(/^test mode: .*AFTERCLICK_TEST_ORDERS/));
    expect(await rewardOf(ids[0])).toBeNull();
    await shopify("orders/create", order(ids[0], { test: true }), { env: { AFTERCLICK_TEST_ORDERS: "true" } });
    expect(await rewardOf(ids[0])).toBe(80);
  });
});

describe("woocommerce", () => {
  it.each<[what: string, reward: number | null, messages: (id: string) => readonly [string, object][]]>([
    ["an order", 40, (id) => [["order.created", stockOrder(id)]]],
    ["the id of the order", 40, (id) => [["order.created", stockOrder("", { meta_data: [{ id: 1, key: "_afterclick", value: id }] })]]],
    ["a status with its prefix", 40, (id) => [["order.created", stockOrder(id, { status: "wc-completed" })]]],
    [
      "a status of the shop that is paid",
      40,
      (id) => [["order.created", stockOrder(id, { status: "packed", date_paid_gmt: text(Date.now()).slice(0, 19) })]],
    ],
    [
      "a status of the shop after a known one",
      40,
      (id) => [
        ["order.created", stockOrder(id)],
        ["order.updated", stockOrder(id, { ...modified(9), status: "packed" })],
      ],
    ],
    [
      "a refund of a part, with its taxes",
      20,
      (id) => [
        ["order.created", stockOrder(id)],
        ["order.updated", stockOrder(id, { ...modified(9), refunds: [{ id: 78, reason: "", total: "-24.00" }] })],
      ],
    ],
    [
      "a refund that was deleted",
      40,
      (id) => [
        ["order.updated", stockOrder(id, { ...modified(9), refunds: [{ id: 78, reason: "", total: "-24.00" }] })],
        ["order.updated", stockOrder(id, modified(19))],
      ],
    ],
    ...["checkout-draft", "pending", "on-hold", "failed", "cancelled", "trash", "refunded"].map(
      (status): [string, null, (id: string) => readonly [string, object][]] => [
        status,
        null,
        (id) => [["order.created", stockOrder(id, { status })]],
      ],
    ),
  ])("%s: %s", async (_, reward, messages) => {
    await expectReward(
      (id) =>
        messages(id).map(
          ([topic, payload]) =>
            () =>
              woocommerce(topic, payload),
        ),
      reward,
    );
  });

  it("a paid order that is cancelled, deleted and restored", async () => {
    const { ids } = await shown(1);
    const steps: [string, object, number][] = [
      ["order.created", stockOrder(ids[0]), 40],
      ["order.updated", stockOrder(ids[0], { ...modified(5), status: "cancelled" }), 0],
      ["order.updated", stockOrder(ids[0], modified(9)), 40],
      ["order.deleted", { id: 727 }, 0],
      ["order.restored", stockOrder(ids[0], modified(90)), 40],
    ];
    for (const [topic, payload, reward] of steps) {
      if (topic === "order.deleted") tick(MINUTE_MS / 2);
      await woocommerce(topic, payload);
      expect(await rewardOf(ids[0])).toBe(reward);
    }
  });

  it("taxes count if the worker says gross, and an unsigned ping needs no secret", async () => {
    const { ids } = await shown(1);
    await woocommerce("order.created", stockOrder(ids[0]), { env: { AFTERCLICK_AMOUNTS: "gross" } });
    expect(await rewardOf(ids[0])).toBe(48);
    const ping = await call("POST", "/v1/hooks/woocommerce", "webhook_id=2", { key: null, headers: FORM });
    expect(ping).toMatchObject({ status: 200, body: { ignored: "ping" } });
    expect((await call("POST", "/v1/hooks/woocommerce", '{"webhook_id":2}', { key: null })).status).toBe(401);
  });
});
