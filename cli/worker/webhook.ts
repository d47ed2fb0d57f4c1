import type { Webhook } from "standardwebhooks";

/** A webhook as a request that repeats it with the same bytes and the same id. */
export function signed(webhook: Webhook, id: string, sentAt: Date, body: string) {
  const headers = {
    "content-type": "application/json",
    "webhook-id": id,
    "webhook-timestamp": String(Math.floor(sentAt.getTime() / 1000)),
    "webhook-signature": webhook.sign(id, sentAt, body),
  };
  return { method: "POST", body, headers } as const;
}

/** The worker's answer to a webhook: one status per item, in the same order. */
export interface Delivered {
  readonly conversions: readonly { readonly status: string }[];
}
