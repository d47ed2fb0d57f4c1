import fc from "fast-check";
import { expect, it } from "vitest";
import { type Below, ERP, type OrderMessage, orderHistory } from "../../../trials/attack/order-history.ts";
import { merged, type OrderFacts } from "../../../worker/domain/orders/facts.ts";
import { type OrderRecord, type Told, withFacts } from "../../../worker/domain/orders/order-record.ts";
import { configured } from "../../../worker/edge/senders/configured.ts";
import type { Sender } from "../../../worker/edge/senders/sender.ts";
import { shopify } from "../../../worker/edge/senders/shopify.ts";
import { stripe } from "../../../worker/edge/senders/stripe.ts";
import { woocommerce } from "../../../worker/edge/senders/woocommerce.ts";

// Random histories of orders come to what a naive model reads off the last true state, however they are delivered.

/** `ORDER_HISTORIES=1000000 npx vitest run test/property/worker/order-histories.test.ts` tries as many. */
const HISTORIES = Number(process.env.ORDER_HISTORIES ?? 2000);
const NOW = Date.UTC(2026, 10, 28);
const IDS = ["first-impression", "second-impression", "third-impression"];

const senders: Readonly<Record<OrderMessage["vendor"], Sender>> = {
  stripe: stripe([]),
  shopify: shopify([]),
  woocommerce: woocommerce([]),
  erp: configured(JSON.stringify({ erp: { header: "x-signature", secret: "secret-of-the-tests", ...ERP } })).get("erp") as Sender,
};

function factsOf({ vendor, topic, payload }: OrderMessage): OrderFacts | undefined {
  const headers = new Headers({ "x-shopify-topic": topic, "x-wc-webhook-topic": topic });
  const attribute = (ids: readonly unknown[]) => {
    const impressionId = ids.find((id) => typeof id === "string");
    return impressionId === undefined ? undefined : { impressionId };
  };
  const { told } = senders[vendor].read(payload, { headers, attribute, gross: false, tests: false, now: NOW });
  return told && "facts" in told ? told.facts : undefined;
}

/** A whole number below another one, by a seed. */
function seeded(seed: number): Below {
  let state = seed;
  return (limit) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}

/** Takes messages as the worker does. Returns all that models were told, in the order of the messages. */
function deliver(messages: readonly OrderMessage[]): { readonly records: OrderRecord[]; readonly told: Told[] } {
  let records: OrderRecord[] = [];
  const told = messages.flatMap((message) => {
    const facts = factsOf(message);
    if (!facts) return [];
    const known = records.filter((record) => record.facts.names.some((name) => facts.names.includes(name)));
    const record = withFacts(message.vendor, known, facts);
    records = [...records.filter((each) => !known.includes(each)), record];
    return record.told;
  });
  return { records, told };
}

/** Cents of each impression, as a ledger folds what it was told in any order: of each name the latest time counts. */
function centsOf(told: readonly Told[]): number[] {
  const latest = new Map<string, Told>();
  for (const each of told) {
    const key = `${each.impressionId} ${each.event}`;
    const known = latest.get(key);
    if (!known || each.at > known.at) latest.set(key, each);
  }
  return IDS.map((id) => {
    const own = [...latest.values()].filter(({ impressionId }) => impressionId === id);
    return Math.round(
      100 *
        Math.max(
          own.reduce((sum, { amount }) => sum + amount, 0),
          0,
        ),
    );
  });
}

it(`${HISTORIES} histories of orders come to the last true amount, however their messages and what follows from them arrive`, () => {
  const history = fc.record({ seed: fc.integer({ min: 0 }), lines: fc.integer({ min: 1, max: 3 }) });
  fc.assert(
    fc.property(history, ({ seed, lines }) => {
      const below = seeded(seed);
      const { messages, total, lines: amounts } = orderHistory(below, { ids: IDS.slice(0, lines), now: NOW, name: 1 + below(1e6) });
      const { told } = deliver(messages);
      const shuffled = told.map((each) => ({ each, place: below(1e9) })).toSorted((a, b) => a.place - b.place);
      const cents = centsOf(shuffled.map(({ each }) => each));
      expect(cents.reduce((sum, each) => sum + each, 0)).toBe(total);
      if (amounts) expect(cents.slice(0, lines)).toEqual(amounts);
    }),
    { numRuns: HISTORIES },
  );
});

it("facts merge in any order, grouping and repetition", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0 }), (seed) => {
      const below = seeded(seed);
      const { messages } = orderHistory(below, { ids: IDS, now: NOW, name: 7 });
      const facts = messages.flatMap((message) => factsOf(message) ?? []);
      const [a, b, c] = [0, 1, 2].map(() => facts[below(facts.length)]);
      expect(merged(a, b)).toEqual(merged(b, a));
      expect(merged(merged(a, b), c)).toEqual(merged(a, merged(b, c)));
      expect(merged(merged(a, b), b)).toEqual(merged(a, b));
    }),
    { numRuns: 300 },
  );
});

it("a thousand messages of one order are one record, which tells of each change once", () => {
  const order = (place: number) => ({
    ...{ id: 1, currency: "EUR", created_at: new Date(NOW).toISOString(), updated_at: new Date(NOW + 1000 * place).toISOString() },
    line_items: [{ id: 5, price: "10", quantity: 9, current_quantity: place % 9, properties: [{ name: "_afterclick", value: IDS[0] }] }],
  });
  const messages = Array.from(
    { length: 1000 },
    (_, place) => ({ vendor: "shopify", topic: "orders/updated", payload: order(place) }) as const,
  );
  const below = seeded(3);
  const { records, told } = deliver(
    messages
      .map((each) => ({ each, place: below(1e9) }))
      .toSorted((a, b) => a.place - b.place)
      .map(({ each }) => each),
  );
  expect(records).toHaveLength(1);
  expect(JSON.stringify(records).length).toBeLessThan(1000);
  expect(centsOf(told)).toEqual([0, 0, 0]);
  expect(centsOf(deliver(messages.slice(0, 999)).told)).toEqual([8000, 0, 0]);
});
