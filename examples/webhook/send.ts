// Tells a worker that an impression converted: signed, and sent again until it is taken. It counts once, however often it comes.
//
//   AFTERCLICK_URL=https://... AFTERCLICK_WEBHOOK_SECRET=whsec_... node examples/webhook/send.ts IMPRESSION_ID ORDER PLACED_AT
import { setTimeout as sleep } from "node:timers/promises";
import { Webhook } from "standardwebhooks";

const { AFTERCLICK_URL = "http://localhost:8787", AFTERCLICK_WEBHOOK_SECRET } = process.env;
const [impressionId, order, placedAt] = process.argv.slice(2);
if (!placedAt || !AFTERCLICK_WEBHOOK_SECRET) {
  console.error("Usage: AFTERCLICK_WEBHOOK_SECRET=whsec_... node examples/webhook/send.ts IMPRESSION_ID ORDER PLACED_AT");
  process.exit(2);
}

/** Between attempts, in ms: a shop would go on for days, from a queue. */
const PAUSES = [0, 500, 2000, 8000];

// What is sent again is the same event: its id and its time come from the order, not from when it is sent.
const id = `order-${order}`;
const body = JSON.stringify({ type: "conversion", timestamp: placedAt, data: { impressionId, reward: 1 } });

for (const pause of PAUSES) {
  await sleep(pause);
  const at = new Date();
  const headers = {
    "content-type": "application/json",
    "webhook-id": id,
    "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
    "webhook-signature": new Webhook(AFTERCLICK_WEBHOOK_SECRET).sign(id, at, body),
  };
  const response = await fetch(new URL("/v1/conversions", AFTERCLICK_URL), { method: "POST", headers, body }).catch(() => undefined);
  if (response?.ok) {
    const { conversions } = (await response.json()) as { conversions: { status: string }[] };
    console.log(conversions[0].status);
    process.exit(0);
  }
  // What is refused will be refused again; only what was not reached, or is busy, is worth another attempt.
  const refused = response && response.status < 500 && response.status !== 429;
  console.error(response ? `${response.status}: ${await response.text()}` : "the worker does not answer");
  if (refused) break;
}
process.exit(1);
