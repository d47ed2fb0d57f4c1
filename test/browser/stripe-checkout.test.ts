// The example that sells by Stripe Checkout. A local server stands in for Stripe, and the events have what the example sent.
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import Stripe from "stripe";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createTestHarness, type TestHarness } from "wrangler";
import { started } from "../support/started.ts";
import { secrets } from "./worker.ts";

const AFTERCLICK_STRIPE_SECRET = "whsec_signing-secret-of-the-endpoint";
const { webhooks } = new Stripe("sk_test_none");

let harness: TestHarness;
let worker: string;
let stripeServer: Server;
let shop: Awaited<ReturnType<typeof started>>;
/** Bodies of the calls that Stripe got. */
const sent: URLSearchParams[] = [];

beforeAll(async () => {
  harness = createTestHarness({ workers: [{ configPath: "wrangler.jsonc", secrets: { ...secrets, AFTERCLICK_STRIPE_SECRET } }] });
  worker = (await harness.listen()).url.origin;
  stripeServer = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    if (request.url === "/v1/checkout/sessions") sent.push(new URLSearchParams(body));
    const session = { id: "cs_test_1", object: "checkout.session", url: "https://checkout.stripe.example/pay/cs_test_1" };
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(session));
  });
  await new Promise<void>((resolve) => stripeServer.listen(0, "127.0.0.1", resolve));
  shop = await started(".", ["examples/stripe-checkout/shop.ts"], {
    ...{ PORT: "0", AFTERCLICK_URL: worker, AFTERCLICK_SECRET_KEY: secrets.AFTERCLICK_SECRET_KEY, STRIPE_SECRET_KEY: "sk_test_none" },
    STRIPE_URL: `http://127.0.0.1:${(stripeServer.address() as AddressInfo).port}`,
  });
});
afterAll(async () => {
  await shop?.stop();
  stripeServer?.close();
  await harness?.close();
});

/** Fields of a form whose names begin with a prefix, such as `metadata[afterclick_0]`. */
const under = (form: URLSearchParams, prefix: string): Record<string, string> =>
  Object.fromEntries(
    Array.from(form)
      .filter(([name]) => name.startsWith(`${prefix}[`))
      .map(([name, value]) => [name.slice(prefix.length + 1, -1), value]),
  );

const nowSeconds = () => Math.floor(Date.now() / 1000);

async function report(type: string, object: object, previous_attributes?: object, created = nowSeconds()): Promise<string[]> {
  const event = { id: `evt_${type}`, type, created, data: { object, previous_attributes } };
  const payload = JSON.stringify(event);
  const headers = { "stripe-signature": await webhooks.generateTestHeaderStringAsync({ payload, secret: AFTERCLICK_STRIPE_SECRET }) };
  const response = await fetch(`${worker}/v1/hooks/stripe`, { method: "POST", headers, body: payload });
  expect(response.status).toBe(202);
  return ((await response.json()) as { conversions: { status: string }[] }).conversions.map(({ status }) => status);
}

/** Rewards are learnt in steps of 1/4096, so a cent is what an amount is compared by. */
async function centsOf(impressionId: string): Promise<number> {
  const headers = { authorization: `Bearer ${secrets.AFTERCLICK_SECRET_KEY}` };
  const response = await fetch(`${worker}/v1/impressions/${impressionId}`, { headers });
  return Math.round(((await response.json()) as { reward: number }).reward * 100);
}

const order = (fields: Readonly<Record<string, string>>) =>
  fetch(`${shop.url}/checkout`, { method: "POST", body: new URLSearchParams(fields), redirect: "manual" });

it("an order counts once, and its refunds take it back", async () => {
  const page = await (await fetch(shop.url)).text();
  const names = Array.from(page.matchAll(/name="([^"]+)"/g), ([, name]) => name);
  expect(names).toHaveLength(2);
  const ordered = await order({ [names[0]]: "2", [names[1]]: "1" });
  expect([ordered.status, ordered.headers.get("location")]).toEqual([303, "https://checkout.stripe.example/pay/cs_test_1"]);

  const form = sent[sent.length - 1];
  const metadata = under(form, "metadata");
  expect(under(form, "payment_intent_data[metadata]")).toEqual(metadata);
  expect(Object.keys(metadata)).toEqual(["afterclick_0", "afterclick_1"]);
  for (const value of Object.values(metadata)) expect(value.length).toBeLessThanOrEqual(500);
  const totals = [0, 1].map((line) => Number(form.get(`line_items[${line}][price_data][unit_amount]`)) * (2 - line));
  const total = totals[0] + totals[1];
  const currency = form.get("line_items[0][price_data][currency]");
  const paid = { currency, metadata };

  // Registering takes a moment, and an order of an impression that is not there yet waits for it.
  const taken = /^(applied|orphan)$/;
  const intent = { ...paid, id: "pi_1", amount_received: total };
  for (const status of await report("payment_intent.succeeded", intent)) expect(status).toMatch(taken);
  const session = { ...paid, id: "cs_test_1", payment_intent: "pi_1", payment_status: "paid", amount_total: total };
  expect(await report("checkout.session.completed", session)).toEqual(["duplicate", "duplicate"]);
  const ids = names.map((name) => name.split(":")[1]);
  await expect.poll(() => Promise.all(ids.map(centsOf))).toEqual(totals);

  const charge = { ...paid, id: "ch_1", amount: total };
  const half = Math.floor(total / 2);
  // Stripe delivers the later refund first.
  const refundedAt = nowSeconds() + 1;
  await report("charge.refunded", { ...charge, amount_refunded: total }, { amount_refunded: half }, refundedAt + 1);
  await report("charge.refunded", { ...charge, amount_refunded: half }, { amount_refunded: 0 }, refundedAt);
  expect(await Promise.all(ids.map(centsOf))).toEqual([0, 0]);
});

it("refuses an order of nothing, of another product or of a fraction", async () => {
  const before = sent.length;
  for (const [name, quantity] of [
    ["boots:A", "0"],
    ["constructor:A", "1"],
    ["boots:A B", "1"],
    ["boots:A", "0.5"],
  ]) {
    expect((await order({ [name]: quantity })).status).toBe(422);
  }
  expect(sent).toHaveLength(before);
});
