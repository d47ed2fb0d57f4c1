// The messages of each vendor, and what they do. The senders read messages by these tables, and docs/senders.md shows them.

import type { State } from "./states.ts";

/** The effect of a message on the amount of its order. */
type Effect = "counts" | "takes back" | "gives again" | "states anew" | "waits" | "ignored";

export interface VendorEvent {
  readonly effect: Effect;
  /** The fields that the worker reads, or why it ignores the message. */
  readonly does: string;
}

/** The form of a Stripe object that the worker reads. */
export type StripeForm = "session" | "intent" | "charge" | "refund" | "dispute" | "invoice" | "payment";
interface StripeEvent extends VendorEvent {
  readonly form?: StripeForm;
  /** The state that the type tells, if the object does not state it. */
  readonly state?: State;
}

const COUNTED_OTHERWISE = "another event of the same payment states its amount";
const NO_MONEY = "moves no money of an order";

export const STRIPE_EVENTS: Readonly<Record<string, StripeEvent>> = {
  "checkout.session.completed": {
    ...{ form: "session", state: "paid", effect: "counts" },
    does: "the amount without shipping, if `payment_status` is `paid`; `unpaid` waits, and `mode: setup` is ignored",
  },
  "checkout.session.async_payment_succeeded": { form: "session", state: "paid", effect: "counts", does: "a delayed payment has come" },
  "checkout.session.async_payment_failed": { form: "session", state: "cancelled", effect: "takes back", does: "a delayed payment failed" },
  "checkout.session.expired": { form: "session", state: "cancelled", effect: "takes back", does: "the session takes no money any more" },
  "payment_intent.succeeded": { form: "intent", state: "paid", effect: "counts", does: "`amount_received`, also of a partial capture" },
  "payment_intent.partially_funded": { form: "intent", state: "pending", effect: "waits", does: "the customer has still to pay the rest" },
  "payment_intent.processing": { form: "intent", state: "pending", effect: "waits", does: "the money has not come" },
  "payment_intent.amount_capturable_updated": { form: "intent", state: "authorised", effect: "waits", does: "the money is reserved" },
  "payment_intent.canceled": { form: "intent", state: "voided", effect: "takes back", does: "the payment was given up" },
  "payment_intent.payment_failed": { effect: "ignored", does: "the customer may try again" },
  "payment_intent.created": { effect: "ignored", does: "nobody has paid" },
  "payment_intent.requires_action": { effect: "ignored", does: "nobody has paid" },
  "charge.succeeded": { form: "charge", state: "paid", effect: "counts", does: "`amount_captured`; an uncaptured charge waits" },
  "charge.captured": { form: "charge", state: "paid", effect: "counts", does: "`amount_captured`" },
  "charge.updated": { form: "charge", state: "paid", effect: "states anew", does: "`amount_captured` and `amount_refunded`" },
  "charge.refunded": { form: "charge", state: "paid", effect: "takes back", does: "the total in `amount_refunded`" },
  "charge.pending": { form: "charge", state: "pending", effect: "waits", does: "the money has not come" },
  "charge.expired": { form: "charge", state: "voided", effect: "takes back", does: "the reserved money was not captured in time" },
  "charge.failed": { effect: "ignored", does: "the customer may try again" },
  "refund.created": { form: "refund", effect: "takes back", does: "the refund's amount, once" },
  "refund.updated": { form: "refund", effect: "states anew", does: "a refund that was canceled or has failed gives its amount again" },
  "refund.failed": { form: "refund", effect: "gives again", does: "the refund's amount" },
  "charge.refund.updated": { form: "refund", effect: "states anew", does: "as `refund.updated`" },
  "charge.dispute.created": {
    form: "dispute",
    effect: "takes back",
    does: "the disputed amount; an inquiry (`warning_...`) takes nothing",
  },
  "charge.dispute.updated": { form: "dispute", effect: "states anew", does: "by the dispute's status" },
  "charge.dispute.funds_withdrawn": { form: "dispute", effect: "takes back", does: "the disputed amount" },
  "charge.dispute.funds_reinstated": { form: "dispute", effect: "gives again", does: "the disputed amount" },
  "charge.dispute.closed": { form: "dispute", effect: "states anew", does: "`won` gives the amount again, `lost` takes it back" },
  "invoice.paid": { form: "invoice", state: "paid", effect: "counts", does: "`amount_paid`; a renewal counts if the goal says so" },
  "invoice.payment_succeeded": { form: "invoice", state: "paid", effect: "counts", does: "as `invoice.paid`" },
  "invoice.voided": { form: "invoice", state: "voided", effect: "takes back", does: "the invoice takes no money any more" },
  "invoice.marked_uncollectible": { form: "invoice", state: "voided", effect: "takes back", does: "nobody will pay" },
  "invoice_payment.paid": { form: "payment", effect: "states anew", does: "says which payment an invoice has, so that refunds find it" },
  "invoice.payment_failed": { effect: "ignored", does: "Stripe tries again" },
  "invoice.created": { effect: "ignored", does: "nobody has paid" },
  "invoice.finalized": { effect: "ignored", does: "nobody has paid" },
  "invoice.overpaid": { effect: "ignored", does: "the customer's credit pays no goods" },
  "invoice.updated": { effect: "ignored", does: "each change of what was paid has an event of its own" },
  "credit_note.created": { effect: "ignored", does: "the refund that pays it out is reported by itself" },
  "credit_note.voided": { effect: "ignored", does: "its refund is reported by itself" },
  "customer.subscription.created": { effect: "ignored", does: "its invoice states what was paid" },
  "customer.subscription.updated": { effect: "ignored", does: "its invoice states what was paid" },
  "customer.subscription.deleted": { effect: "ignored", does: "what was paid stays paid" },
  "transfer.reversed": { effect: "ignored", does: NO_MONEY },
  "radar.early_fraud_warning.created": { effect: "ignored", does: NO_MONEY },
  "review.closed": { effect: "ignored", does: COUNTED_OTHERWISE },
};

/** States by the field `status` of a payment. */
export const INTENT_STATES: Readonly<Record<string, State>> = {
  succeeded: "paid",
  requires_capture: "authorised",
  processing: "pending",
  requires_payment_method: "pending",
  requires_confirmation: "pending",
  requires_action: "pending",
  canceled: "voided",
};

/** States by the field `status` of an invoice. */
export const INVOICE_STATES: Readonly<Record<string, State>> = {
  paid: "paid",
  draft: "draft",
  open: "pending",
  void: "voided",
  uncollectible: "voided",
};

/** Whether a dispute of a status holds the money back, and a refund pays it. */
export const STANDS: Readonly<Record<"dispute" | "refund", Readonly<Record<string, boolean>>>> = {
  dispute: {
    ...{ needs_response: true, under_review: true, lost: true, charge_refunded: true, accepted: true },
    ...{ won: false, warning_needs_response: false, warning_under_review: false, warning_closed: false, prevented: false },
  },
  refund: { succeeded: true, pending: true, requires_action: true, failed: false, canceled: false },
};

/** Where a Shopify topic states its order. */
interface ShopifyEvent extends VendorEvent {
  readonly form?: "order" | "refund" | "dispute";
}

const WHOLE = "the whole order, as it is then";

/** Topics of an order in the order of its life: of two messages of one time, the later topic counts. */
export const SHOPIFY_EVENTS: Readonly<Record<string, ShopifyEvent>> = {
  "orders/create": { form: "order", effect: "counts", does: `${WHOLE}; one that is not paid waits` },
  "orders/paid": { form: "order", effect: "counts", does: WHOLE },
  "orders/edited": { form: "order", effect: "states anew", does: "only if it has lines: the message of Shopify has no prices" },
  "orders/partially_fulfilled": { form: "order", effect: "states anew", does: WHOLE },
  "orders/fulfilled": { form: "order", effect: "states anew", does: WHOLE },
  "orders/updated": { form: "order", effect: "states anew", does: `${WHOLE}: edited quantities, refunds, payment` },
  "orders/cancelled": { form: "order", effect: "takes back", does: "all that refunds have left" },
  "refunds/create": { form: "refund", effect: "takes back", does: "the lines' amounts, or the amount alone" },
  "disputes/create": { form: "dispute", effect: "takes back", does: "the disputed amount; an `inquiry` takes nothing" },
  "disputes/update": { form: "dispute", effect: "states anew", does: "`won` gives the amount again" },
  "orders/delete": { effect: "ignored", does: "only cancelled and archived orders can be deleted: no money moves" },
  "order_transactions/create": { effect: "ignored", does: "`orders/updated` states what was paid" },
  "tender_transactions/create": { effect: "ignored", does: "`orders/updated` states what was paid" },
  "subscription_billing_attempts/success": { effect: "ignored", does: "`orders/create` reports the order of each billing" },
  "draft_orders/create": { effect: "ignored", does: "nobody has bought" },
  "draft_orders/update": { effect: "ignored", does: "nobody has bought" },
  "checkouts/create": { effect: "ignored", does: "nobody has bought" },
  "checkouts/update": { effect: "ignored", does: "nobody has bought" },
  "returns/approve": { effect: "ignored", does: "the refund of a return is reported by itself" },
  "returns/close": { effect: "ignored", does: "the refund of a return is reported by itself" },
  "fulfillments/create": { effect: "ignored", does: NO_MONEY },
  "orders/risk_assessment_changed": { effect: "ignored", does: NO_MONEY },
};

/** States by the field `financial_status` of an order. */
export const SHOPIFY_STATES: Readonly<Record<string, State>> = {
  pending: "pending",
  expired: "voided",
  authorized: "authorised",
  partially_paid: "part",
  paid: "paid",
  partially_refunded: "paid",
  refunded: "refunded",
  voided: "voided",
};

export const WOOCOMMERCE_EVENTS: Readonly<Record<string, VendorEvent>> = {
  "order.created": { effect: "counts", does: "the whole order, by its status" },
  "order.updated": { effect: "states anew", does: "the whole order, by its status, and the totals of its refunds" },
  "order.restored": { effect: "states anew", does: "the whole order, by its status" },
  "order.deleted": { effect: "takes back", does: "the whole order" },
};

/** States by the field `status` of an order. An order of another status counts once `date_paid_gmt` says that it was paid. */
export const WOOCOMMERCE_STATES: Readonly<Record<string, State>> = {
  "checkout-draft": "draft",
  "auto-draft": "draft",
  draft: "draft",
  pending: "pending",
  "on-hold": "pending",
  processing: "paid",
  completed: "paid",
  refunded: "refunded",
  failed: "cancelled",
  cancelled: "cancelled",
  trash: "cancelled",
};
