// Reports a conversion to a worker with a signed webhook. Retries until the worker accepts it; the conversion counts once.
//
//   AFTERCLICK_URL=https://... AFTERCLICK_WEBHOOK_SECRET=whsec_... node examples/webhook/send.ts IMPRESSION_ID ORDER PLACED_AT
import { setTimeout as sleep } from "node:timers/promises";
import { Webhook } from "standardwebhooks";

const { AFTERCLICK_URL = "http://localhost:8787", AFTERCLICK_WEBHOOK_SECRET = "" } = process.env;
// While a secret is rotated, the variable has several values.
const [secret] = AFTERCLICK_WEBHOOK_SECRET.trim().split(/\s+/);
const [impressionId, order, placedAt] = process.argv.slice(2);
if (!placedAt || !secret) {
  console.error(
    "Reports a conversion to a worker. Usage: AFTERCLICK_WEBHOOK_SECRET=whsec_... node examples/webhook/send.ts IMPRESSION_ID ORDER PLACED_AT",
  );
  process.exit(2);
}

/** Pauses before the attempts, in ms. A shop would retry for days, from a queue. */
const PAUSES = [0, 500, 2000, 8000];

// Event id and time come from the order, so every attempt sends the same event.
const id = `order-${order}`;
const body = JSON.stringify({ type: "conversion", timestamp: placedAt, data: { impressionId, reward: 1 } });

for (const pause of PAUSES) {
  await sleep(pause);
  const at = new Date();
  const headers = {
    "content-type": "application/json",
    "webhook-id": id,
    "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
    "webhook-signature": new Webhook(secret).sign(id, at, body),
  };
  const response = await fetch(new URL("/v1/conversions", AFTERCLICK_URL), { method: "POST", headers, body }).catch(() => undefined);
  if (response?.status === 202) {
    const { conversions } = (await response.json()) as { conversions: { status: string }[] };
    console.log(conversions[0].status);
    process.exit(0);
  }
  // Retries only if the worker was unreachable or busy. It would refuse a refused event again.
  const refused = response && response.status < 500 && response.status !== 429;
  console.error(response ? `${response.status}: ${await response.text()}` : "the worker does not answer");
  if (refused) break;
}
process.exit(1);
