import { env } from "cloudflare:workers";
import Stripe from "stripe";

const { webhooks } = new Stripe("sk_test_none");

/** The header of a message from Stripe, made by Stripe's own library. */
export function stripeSigned(
  payload: string,
  secret = env.AFTERCLICK_STRIPE_SECRET as string,
  at = Date.now(),
): Promise<Record<string, string>> {
  const timestamp = Math.floor(at / 1000);
  return webhooks.generateTestHeaderStringAsync({ payload, secret, timestamp }).then((header) => ({ "stripe-signature": header }));
}
