// A shop that sells by Stripe Checkout. Stripe reports orders and refunds to the worker, so the shop need not.
//
//   npm install hono @hono/node-server stripe
//   STRIPE_SECRET_KEY=sk_test_... AFTERCLICK_SECRET_KEY=sk_... node shop.ts
//
// AFTERCLICK_URL (default http://localhost:8787), STRIPE_URL (default https://api.stripe.com) and PORT (default 3000) are read from the
// environment. Send Stripe's events to the worker, during development so:
//
//   stripe listen --forward-to localhost:8787/v1/hooks/stripe
//
// Orders of Stripe's test mode count if the worker has AFTERCLICK_TEST_ORDERS=true.
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { html } from "hono/html";
import Stripe from "stripe";

const { PORT = "3000", AFTERCLICK_URL = "http://localhost:8787", STRIPE_URL = "https://api.stripe.com" } = process.env;
const { AFTERCLICK_SECRET_KEY = "", STRIPE_SECRET_KEY } = process.env;
// While a key is rotated, the variable has several values.
const [secretKey] = AFTERCLICK_SECRET_KEY.trim().split(/\s+/);
if (!secretKey || !STRIPE_SECRET_KEY) {
  console.error("expected STRIPE_SECRET_KEY and AFTERCLICK_SECRET_KEY in the environment");
  process.exit(2);
}
const { protocol, hostname, port } = new URL(STRIPE_URL);
const stripe = new Stripe(STRIPE_SECRET_KEY, {
  protocol: protocol === "http:" ? "http" : "https",
  host: hostname,
  port: port || (protocol === "http:" ? 80 : 443),
});

const WEEK_MS = 7 * 86_400_000;
/** Most lines of an order. Stripe takes 50 keys of metadata. */
const MOST_LINES = 50;
const CURRENCY = "eur";
/** Prices in cents. */
const products: Readonly<Record<string, { readonly name: string; readonly cents: number }>> = {
  boots: { name: "Boots", cents: 12_900 },
  hat: { name: "Hat", cents: 1999 },
  scarf: { name: "Scarf", cents: 3450 },
};

async function worker<Answer>(method: string, path: string, json: object): Promise<Answer> {
  const headers = { authorization: `Bearer ${secretKey}`, "content-type": "application/json" };
  const response = await fetch(new URL(path, AFTERCLICK_URL), { method, headers, body: JSON.stringify(json) });
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status}: ${await response.text()}`);
  return (await response.json()) as Answer;
}

await worker("PUT", "/v1/models/stripe-shop", {
  window: { ms: WEEK_MS },
  goals: { purchase: { weight: 1, value: { currency: CURRENCY.toUpperCase() } } },
});
await worker("PUT", "/v1/models/stripe-shop/actions", { actions: Object.keys(products).map((id) => ({ id })) });

interface Recommended {
  readonly id: string;
  readonly impressionId: string;
}

async function recommend(): Promise<readonly Recommended[]> {
  const { actions } = await worker<{ actions: Recommended[] }>("POST", "/v1/models/stripe-shop/recommendations", { limit: 2 });
  return actions;
}

/** An order line. The price is the shop's, so that a visitor cannot choose it. The worker refuses an impression id that it did not give. */
interface Line extends Recommended {
  readonly quantity: number;
}

/** Lines of a form whose fields are PRODUCT:IMPRESSION_ID with a quantity. Undefined if it is malformed. */
function linesOf(form: Readonly<Record<string, unknown>>): readonly Line[] | undefined {
  const lines = Object.entries(form)
    .map(([name, quantity]) => {
      const [id, impressionId = ""] = name.split(":");
      return { id, impressionId, quantity: Number(quantity) };
    })
    .filter(({ quantity }) => quantity !== 0);
  const isLine = ({ id, impressionId, quantity }: Line) =>
    Object.hasOwn(products, id) && /^[\w-]{1,480}$/.test(impressionId) && Number.isInteger(quantity) && quantity > 0 && quantity < 100;
  return lines.length > 0 && lines.length <= MOST_LINES && lines.every(isLine) ? lines : undefined;
}

/** Makes a Checkout Session. Returns the address of its page. */
async function checkout(lines: readonly Line[], shop: string): Promise<string> {
  // Stripe does not copy a session's metadata to its payment, and refunds carry those of the payment.
  const metadata = Object.fromEntries(
    lines.map(({ id, impressionId, quantity }, place) => [`afterclick_${place}`, `${impressionId} ${products[id].cents * quantity}`]),
  );
  const { url } = await stripe.checkout.sessions.create({
    mode: "payment",
    line_items: lines.map(({ id, quantity }) => ({
      quantity,
      price_data: { currency: CURRENCY, unit_amount: products[id].cents, product_data: { name: products[id].name } },
    })),
    success_url: `${shop}/thanks`,
    cancel_url: `${shop}/`,
    metadata,
    payment_intent_data: { metadata },
  });
  if (!url) throw new Error("Stripe made a session without a page");
  return url;
}

const shop = new Hono()
  .get("/", async (c) => {
    const items = (await recommend()).map(
      ({ id, impressionId }) => html`
        <li>
          <label>
            ${products[id].name}, ${(products[id].cents / 100).toFixed(2)} EUR
            <input type="number" name="${id}:${impressionId}" value="0" min="0" max="99">
          </label>
        </li>`,
    );
    return c.html(
      html`<!doctype html><html lang="en"><title>Shop</title><h1>Recommended</h1>
        <form method="post" action="/checkout"><ul>${items}</ul><button>Pay</button></form></html>`,
    );
  })
  .post("/checkout", async (c) => {
    const lines = linesOf(await c.req.parseBody());
    if (!lines) return c.text("expected a quantity of at least one product of this shop", 422);
    return c.redirect(await checkout(lines, new URL(c.req.url).origin), 303);
  })
  .get("/thanks", (c) => c.html(html`<!doctype html><html lang="en"><title>Thanks</title><h1>Thank you</h1></html>`));

serve({ fetch: shop.fetch, port: Number(PORT), hostname: "127.0.0.1" }, (address) =>
  console.log(`The shop is at http://127.0.0.1:${address.port}`),
);
