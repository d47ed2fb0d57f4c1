import { keyValuesOf } from "../../domain/ids/secret.ts";
import type { Environment } from "../../environment.ts";
import { Problem } from "../../protocol/problem.ts";
import { configured } from "./configured.ts";
import type { Sender } from "./sender.ts";
import { shopify } from "./shopify.ts";
import { stripe } from "./stripe.ts";
import { woocommerce } from "./woocommerce.ts";

type SecretName = "AFTERCLICK_STRIPE_SECRET" | "AFTERCLICK_SHOPIFY_SECRET" | "AFTERCLICK_WOOCOMMERCE_SECRET";

/** Senders by the name in their address, with the variable that holds their secrets. */
const SENDERS: Readonly<Record<string, readonly [(secrets: readonly string[]) => Sender, SecretName]>> = {
  stripe: [stripe, "AFTERCLICK_STRIPE_SECRET"],
  shopify: [shopify, "AFTERCLICK_SHOPIFY_SECRET"],
  woocommerce: [woocommerce, "AFTERCLICK_WOOCOMMERCE_SECRET"],
};

/** @throws {Problem} 404 if the worker has no such sender, or no secret of it. 500 if its configuration is malformed. */
export function senderOf(env: Environment, name: string): Sender {
  if (Object.hasOwn(SENDERS, name)) {
    const [sender, variable] = SENDERS[name];
    const secret = env[variable];
    if (secret?.trim()) return sender(keyValuesOf(variable, secret));
    throw new Problem(404, `the sender ${name} is off: set ${variable} to turn it on`);
  }
  const own = env.AFTERCLICK_SENDERS?.trim() ? configured(env.AFTERCLICK_SENDERS).get(name) : undefined;
  if (own) return own;
  throw new Problem(404, `there is no such sender: expected ${Object.keys(SENDERS).join(", ")}, or a name in AFTERCLICK_SENDERS`);
}
