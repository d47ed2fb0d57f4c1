// Sends random histories of orders, as Stripe, Shopify and WooCommerce tell them, and compares what each impression has brought.

import { createHmac } from "node:crypto";
import { shown, type Verdict } from "../judge.ts";
import { type OrderMessage, orderHistory } from "../order-history.ts";
import type { Group } from "../stage.ts";

/** Secrets of the senders on this stand. */
export const SENDER_SECRETS = {
  AFTERCLICK_STRIPE_SECRET: "whsec_of-the-orders-of-an-attack",
  AFTERCLICK_SHOPIFY_SECRET: "secret-of-the-orders-of-an-attack",
  AFTERCLICK_WOOCOMMERCE_SECRET: "secret-of-the-items-of-an-attack",
};

const MOST_LINES = 3;
const VENDORS = ["stripe", "shopify", "woocommerce"] as const;

/** Histories of orders: permuted, repeated, several at once, and without messages that later ones make superfluous. */
export const orders: Group = {
  name: "orders",
  async prepare(stage) {
    const { target } = stage;
    const goals = { purchase: { weight: 1, value: { currency: "EUR" } } };
    const model = await target.createModel("orders", { goals });
    const rewardOf = async (id: string): Promise<number> => {
      const { text } = await target.send("GET", `/v1/impressions/${id}`, { key: target.secretKey });
      return (JSON.parse(text) as { readonly reward: number | null }).reward ?? 0;
    };
    return stage.repeated(60, async (index) => {
      const ids = (await target.recommend(model, { limit: MOST_LINES })).slice(0, 1 + stage.below(MOST_LINES));
      const below = (limit: number) => stage.below(limit);
      const history = orderHistory(below, { ids, now: Date.now(), name: 1_000_000 + index, vendors: VENDORS });
      // Some messages arrive at once.
      for (let from = 0; from < history.messages.length; ) {
        const some = history.messages.slice(from, from + 1 + stage.below(3));
        from += some.length;
        const answers = await Promise.all(some.map((message) => target.send("POST", `/v1/hooks/${message.vendor}`, signed(message))));
        for (const answer of answers) {
          const isTaken = [200, 202].includes(answer.status);
          stage.check(`orders ${index}: a message`, isTaken ? null : `expected 200 or 202, got ${shown(answer)}`);
        }
      }
      const rewards = await Promise.all(ids.map(rewardOf));
      stage.check(`orders ${index}: amounts of ${history.messages[0]?.vendor}`, verdict(rewards, history));
    });
  },
};

/** Rewards are rounded to multiples of 1/4096. */
function verdict(rewards: readonly number[], { total, lines = [] }: { total: number; lines?: readonly number[] }): Verdict {
  const cents = rewards.map((reward) => Math.round(100 * reward));
  const sum = cents.reduce((all, each) => all + each, 0);
  const isRight = sum === total && lines.every((line, place) => line === cents[place]);
  return isRight ? null : `expected ${lines.length > 0 ? lines : total} cents, got ${cents}`;
}

function signed({ vendor, topic, payload }: OrderMessage): { readonly body: string; readonly headers: Record<string, string> } {
  const body = JSON.stringify(payload);
  const of = (name: keyof typeof SENDER_SECRETS, content = body) => createHmac("sha256", SENDER_SECRETS[name]).update(content);
  const at = Math.floor(Date.now() / 1000);
  const headers = {
    stripe: { "stripe-signature": `t=${at},v1=${of("AFTERCLICK_STRIPE_SECRET", `${at}.${body}`).digest("hex")}` },
    shopify: { "x-shopify-topic": topic, "x-shopify-hmac-sha256": of("AFTERCLICK_SHOPIFY_SECRET").digest("base64") },
    woocommerce: { "x-wc-webhook-topic": topic, "x-wc-webhook-signature": of("AFTERCLICK_WOOCOMMERCE_SECRET").digest("base64") },
    erp: {},
  };
  return { body, headers: headers[vendor] as Record<string, string> };
}
