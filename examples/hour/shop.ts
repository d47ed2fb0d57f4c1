// The backend of a shop: a page with three recommended products, their pages, and orders, which it reports to the worker.
// docs/hour.md makes the model, and goes through this file.
//
//   npm install "$TARBALL" hono @hono/node-server standardwebhooks
//   set -a; . ./.dev.vars; set +a; node shop.ts
import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { html } from "hono/html";
import { Webhook } from "standardwebhooks";

const { AFTERCLICK_URL = "http://localhost:8787", PORT = "3000" } = process.env;
/** The first value of a key. While it is rotated, the variable has several. */
function keyOf(name: string): string {
  const [value] = (process.env[name] ?? "").trim().split(/\s+/);
  if (value) return value;
  console.error(`expected ${name} in the environment; npm start writes it to .dev.vars`);
  process.exit(2);
}
const publishableKey = keyOf("AFTERCLICK_PUBLISHABLE_KEY");
const webhook = new Webhook(keyOf("AFTERCLICK_WEBHOOK_SECRET"));

/** Prices in EUR. */
const prices = new Map([
  ["boots", 129],
  ["hat", 19.99],
  ["scarf", 34.5],
]);

const cards = (await readFile(new URL("page.html", import.meta.url), "utf8"))
  .replaceAll("{{url}}", new URL(AFTERCLICK_URL).origin)
  .replaceAll("{{key}}", publishableKey);
const pageScript = await readFile(new URL(import.meta.resolve("afterclick/page-script.js")), "utf8");

/** Reports an order, signed. Sent again with the same order and time, it counts once. */
async function report(order: string, placedAt: Date, impressionId: string, amount: number): Promise<string> {
  const data = { impressionId, goal: "purchase", reward: amount, currency: "EUR" };
  const body = JSON.stringify({ type: "conversion", timestamp: placedAt.toISOString(), data });
  const sentAt = new Date();
  const headers = {
    "content-type": "application/json",
    "webhook-id": order,
    "webhook-timestamp": String(Math.floor(sentAt.getTime() / 1000)),
    "webhook-signature": webhook.sign(order, sentAt, body),
  };
  const response = await fetch(new URL("/v1/conversions", AFTERCLICK_URL), { method: "POST", headers, body });
  if (response.status !== 202) return `${response.status}: ${await response.text()}`;
  const { conversions } = (await response.json()) as { conversions: { status: string }[] };
  return conversions[0].status;
}

const page = (title: string, content: unknown) => html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>${title}</title>
<main style="font-family: system-ui, sans-serif; overflow-wrap: anywhere">
<h1>${title}</h1>
${content}
</main>
</html>`;

const shop = new Hono()
  .get("/", (c) => c.html(cards))
  .get("/page-script.js", (c) => c.body(pageScript, 200, { "content-type": "text/javascript" }))
  .get("/products/:id", (c) => {
    const id = c.req.param("id");
    if (!prices.has(id)) return c.notFound();
    const form = html`<p>${prices.get(id)?.toFixed(2)} EUR</p>
<form method="post" action="/orders">
  <input type="hidden" name="product" value="${id}">
  <input type="hidden" name="impression" value="${c.req.query("impression") ?? ""}">
  <button>Buy</button>
</form>`;
    return c.html(page(`The ${id}`, form));
  })
  .post("/orders", async (c) => {
    const { product, impression } = await c.req.parseBody();
    const price = prices.get(String(product));
    if (price === undefined) return c.text("expected a product of this shop", 422);
    const order = `order-${randomUUID()}`;
    // A product that was found without a card has no impression. A shop with many orders reports them from a queue.
    const status = impression ? await report(order, new Date(), String(impression), price) : "not recommended";
    return c.html(page("Thank you", html`<p>Order of ${order}</p><p role="status">${status}</p>`));
  });

serve({ fetch: shop.fetch, port: Number(PORT), hostname: "localhost" }, ({ port }) =>
  console.log(`The shop is at http://localhost:${port}`),
);
