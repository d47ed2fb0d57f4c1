// Makes the tables of docs/senders.md of the states of an order and of the messages of each vendor.

import { STATES } from "../domain/orders/states.ts";
import {
  SHOPIFY_EVENTS,
  SHOPIFY_STATES,
  STRIPE_EVENTS,
  type VendorEvent,
  WOOCOMMERCE_EVENTS,
  WOOCOMMERCE_STATES,
} from "../domain/orders/vendor-events.ts";

type Table = readonly [head: readonly string[], rows: readonly (readonly string[])[]];

/** The tables by the names of their places in the page. */
export const senderTables = (): Readonly<Record<string, Table>> => ({
  "order-states": [
    ["state", "counts", "meaning", "Shopify's `financial_status`", "WooCommerce's `status`"],
    Object.entries(STATES).map(([state, { counts, meaning }]) => {
      const named = [SHOPIFY_STATES, WOOCOMMERCE_STATES].map((states) => {
        return Object.keys(states)
          .filter((name) => states[name] === state)
          .map((name) => `\`${name}\``)
          .join(", ");
      });
      return [state, counts ? "yes" : "no", meaning, ...named];
    }),
  ],
  "stripe-events": eventTable(STRIPE_EVENTS),
  "shopify-events": eventTable(SHOPIFY_EVENTS),
  "woocommerce-events": eventTable(WOOCOMMERCE_EVENTS),
});

function eventTable(events: Readonly<Record<string, VendorEvent>>): Table {
  return [
    ["message", "effect", "reads, or why not"],
    Object.entries(events).map(([name, { effect, does }]) => [`\`${name}\``, effect, does]),
  ];
}
