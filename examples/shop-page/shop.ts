// A shop whose pages ask the worker for recommendations. The impression id travels from the list through the product's page and the cart
// to the order, and the shop reports the order with it.
//
//   npm install hono @hono/node-server standardwebhooks
//   set -a; . ./.dev.vars; set +a; node shop.ts
//
// AFTERCLICK_URL (default http://localhost:8787), the worker's keys and PORT (default 3000) are read from the environment.
import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { serve } from "@hono/node-server";
import { type Context, Hono } from "hono";
import { getCookie, setCookie } from "hono/cookie";
import { html, raw } from "hono/html";
import { Webhook } from "standardwebhooks";

const { PORT = "3000", AFTERCLICK_URL = "http://localhost:8787" } = process.env;
/** The first value of a key. While it is rotated, the variable has several. */
function keyOf(name: string): string {
  const [value] = (process.env[name] ?? "").trim().split(/\s+/);
  if (value) return value;
  console.error(`expected ${name} in the environment; npm start writes it to .dev.vars`);
  process.exit(2);
}
const secretKey = keyOf("AFTERCLICK_SECRET_KEY");
const publishableKey = keyOf("AFTERCLICK_PUBLISHABLE_KEY");
const webhookSecret = keyOf("AFTERCLICK_WEBHOOK_SECRET");

const MODEL = "shop-page";
const CURRENCY = "EUR";
const RETRY_MS = 5000;

interface Product {
  readonly title: string;
  readonly address: string;
  readonly price: number;
  readonly brand: string;
}
const products: Readonly<Record<string, Product>> = {
  boots: { title: "Winter boots", address: "/products/boots", price: 129, brand: "Acme" },
  hat: { title: "Felt hat", address: "/products/hat", price: 19.99, brand: "Umbra" },
  scarf: { title: "Long scarf", address: "/products/scarf", price: 34.5, brand: "Lana" },
};
const productOf = (id: unknown): Product | undefined => (Object.hasOwn(products, String(id)) ? products[String(id)] : undefined);

async function put(path: string, json: object): Promise<void> {
  const headers = { authorization: `Bearer ${secretKey}`, "content-type": "application/json" };
  const response = await fetch(new URL(path, AFTERCLICK_URL), { method: "PUT", headers, body: JSON.stringify(json) });
  if (!response.ok) throw new Error(`PUT ${path}: ${response.status}: ${await response.text()}`);
}
// Lists without consent are deleted after a minute.
const goals = { purchase: { weight: 1, value: { currency: CURRENCY } } };
await put(`/v1/models/${MODEL}`, { window: { ms: 7 * 86_400_000 }, goals });
// The worker gets the features from which it learns. Titles and addresses stay here.
const actions = Object.entries(products).map(([id, { brand, price }]) => ({ id, features: { brand, isCheap: price < 30 } }));
await put(`/v1/models/${MODEL}/actions`, { actions });

interface Line {
  readonly product: string;
  /** The impression that led here. Absent without consent, or if the visitor came another way. */
  readonly impressionId?: string;
}
/** The carts by the cookie that a cart needs. A shop has a database. */
const carts = new Map<string, Line[]>();

const hasConsent = (c: Context): boolean => getCookie(c, "consent") === "yes";
const cartOf = (c: Context): readonly Line[] => carts.get(getCookie(c, "cart") ?? "") ?? [];
/** An impression id of a visitor may be any text. The worker checks its signature. */
const impressionIn = (text: unknown): string | undefined => (/^[\w-]{1,480}$/.test(String(text ?? "")) ? String(text) : undefined);

function putIntoCart(c: Context, line: Line): void {
  const known = getCookie(c, "cart");
  const id = known && carts.has(known) ? known : randomUUID();
  if (id !== known) setCookie(c, "cart", id, { httpOnly: true, sameSite: "Lax", path: "/" });
  carts.set(id, [...(carts.get(id) ?? []), line]);
}

interface Report {
  readonly order: string;
  readonly body: string;
}
/** Orders that the worker has not confirmed. A shop keeps them in its database. */
const unsent = new Set<Report>();

/** Reports the lines that have an impression id. Id and time are those of the order: however often it is sent, it counts once. */
function reportOrder(order: string, lines: readonly Line[]): void {
  const data = lines.flatMap(({ product, impressionId }) => {
    return impressionId ? [{ impressionId, goal: "purchase", reward: products[product].price, currency: CURRENCY }] : [];
  });
  if (data.length === 0) return;
  const report = { order, body: JSON.stringify({ type: "conversion", timestamp: new Date().toISOString(), data }) };
  unsent.add(report);
  void send(report);
}

async function send(report: Report): Promise<void> {
  const { order, body } = report;
  const now = new Date();
  const headers = {
    "content-type": "application/json",
    "webhook-id": order,
    "webhook-timestamp": String(Math.floor(now.getTime() / 1000)),
    "webhook-signature": new Webhook(webhookSecret).sign(order, now, body),
  };
  const response = await fetch(new URL("/v1/conversions", AFTERCLICK_URL), { method: "POST", headers, body }).catch(() => undefined);
  if (response?.status !== 202) console.error(order, response ? `${response.status}: ${await response.text()}` : "no worker answers");
  // It is sent again if the worker is unreachable or busy. A refused event would be refused again.
  if (response && response.status < 500 && response.status !== 429) unsent.delete(report);
}
setInterval(() => void Promise.all(Array.from(unsent, send)), RETRY_MS).unref();

/** A page of the shop. It runs scripts of its own alone, and talks to the worker. */
function page(c: Context, title: string, content: unknown) {
  c.header(
    "content-security-policy",
    `default-src 'none'; script-src 'self'; connect-src 'self' ${new URL(AFTERCLICK_URL).origin}; form-action 'self'`,
  );
  // The address of a product's page has the impression id. Other sites do not get it.
  c.header("referrer-policy", "same-origin");
  const consent = hasConsent(c);
  return c.html(html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>${title}</title>
<h1>${title}</h1>
${content}
<form method="post" action="/consent">
  <p>${consent ? "Your purchases improve what we recommend." : "May your purchases improve what we recommend?"}</p>
  <button name="consent" value="${consent ? "no" : "yes"}">${consent ? "Stop that" : "Yes"}</button>
</form>
<p><a href="/">Shop</a> <a href="/cart">Cart</a></p>
</html>`);
}

const shop = new Hono()
  .get("/", (c) => {
    const settings = { worker: new URL(AFTERCLICK_URL).origin, key: publishableKey, model: MODEL, consent: hasConsent(c), products };
    // In a script, "<" could end it.
    const json = raw(JSON.stringify(settings).replaceAll("<", "\\u003c"));
    const links = Object.values(products).map(({ title, address, price }) => {
      return html`<li><a href="${address}">${title}, ${price.toFixed(2)} EUR</a></li>`;
    });
    const list = html`
<ul id="recommended">${links.slice(0, 2)}</ul>
<script type="application/json" id="shop">${json}</script>
<script type="module" src="/recommend.js"></script>
`;
    return page(c, "Recommended", list);
  })
  .get("/recommend.js", async (c) => {
    return c.body(await readFile(new URL("recommend.js", import.meta.url)), 200, { "content-type": "text/javascript" });
  })
  .get("/products/:id", (c) => {
    const id = c.req.param("id");
    const product = productOf(id);
    if (!product) return c.notFound();
    const form = html`<form method="post" action="/cart">
  <input type="hidden" name="product" value="${id}">
  <input type="hidden" name="impression" value="${impressionIn(c.req.query("impression")) ?? ""}">
  <button>Add to cart</button>
</form>`;
    return page(c, product.title, form);
  })
  .post("/cart", async (c) => {
    const { product, impression } = await c.req.parseBody();
    if (!productOf(product)) return c.text("expected a product of this shop", 422);
    const impressionId = hasConsent(c) ? impressionIn(impression) : undefined;
    putIntoCart(c, { product: String(product), ...(impressionId && { impressionId }) });
    return c.redirect("/cart", 303);
  })
  .get("/cart", (c) => {
    const lines = cartOf(c).map(({ product }) => html`<li>${products[product].title}</li>`);
    return page(c, "Cart", html`<ul>${lines}</ul><form method="post" action="/orders"><button>Buy</button></form>`);
  })
  .post("/orders", async (c) => {
    const lines = cartOf(c);
    if (lines.length === 0) return c.text("expected a cart with a product", 422);
    carts.delete(getCookie(c, "cart") ?? "");
    const order = `order-${randomUUID()}`;
    reportOrder(order, lines);
    return page(c, "Thank you", html`<p>${order}</p>`);
  })
  .post("/consent", async (c) => {
    const consent = (await c.req.parseBody()).consent === "yes";
    setCookie(c, "consent", consent ? "yes" : "no", { httpOnly: true, sameSite: "Lax", path: "/", maxAge: 180 * 86_400 });
    // An impression id that came before a refusal is forgotten.
    const cart = getCookie(c, "cart") ?? "";
    if (!consent && carts.has(cart))
      carts.set(
        cart,
        cartOf(c).map(({ product }) => ({ product })),
      );
    return c.redirect("/", 303);
  });

serve({ fetch: shop.fetch, port: Number(PORT), hostname: "127.0.0.1" }, (address) =>
  console.log(`The shop is at http://127.0.0.1:${address.port}`),
);
