// Payments and refunds of Stripe as facts. The API versions of the last two years differ in invoices alone.

import * as v from "valibot";
import type { OrderFacts } from "../../domain/orders/facts.ts";
import { inMajor } from "../../domain/orders/money.ts";
import type { State } from "../../domain/orders/states.ts";
import { INTENT_STATES, INVOICE_STATES, STANDS, STRIPE_EVENTS, type StripeForm } from "../../domain/orders/vendor-events.ts";
import { Problem, unauthorised } from "../../protocol/problem.ts";
import {
  currency as code,
  fieldsOf,
  id,
  linesOf,
  listIn,
  type OrderMessage,
  type RawLine,
  type Reading,
  type Sender,
  TEST_MODE,
  type Terms,
  toldBy,
  unknownState,
} from "./sender.ts";
import { bytesOf, isSigned, joined } from "./signature.ts";

const TOLERANCE_S = 300;
/** Most signatures that are compared. */
const MAX_SIGNATURES = 8;

/** Names of the metadata that carry an impression id and an amount in minor units. */
const LINE = /^afterclick(_\d+)?$/;
/** Form of an impression id. A `client_reference_id` of another form is the shop's own. */
const IMPRESSION_ID = /^[\w-]{84,}$/;

const minor = v.nullish(v.pipe(v.number(), v.safeInteger(), v.minValue(0)));
const created = v.pipe(
  v.number(),
  v.safeInteger(),
  v.transform((seconds) => seconds * 1000),
);
/** What objects say about money, in minor units. Each form has its own fields. */
const stated = v.object({
  ...{ id, currency: code, created: v.nullish(created) },
  ...{ amount_total: minor, amount_received: minor, amount_paid: minor, amount: minor, amount_captured: minor, amount_refunded: minor },
  total_details: v.nullish(v.object({ amount_shipping: minor, amount_tax: minor })),
  ...{ total: minor, tax: minor, total_taxes: v.nullish(v.array(v.object({ amount: v.number() })), []) },
  shipping_cost: v.nullish(v.object({ amount_total: minor })),
  amount_details: v.nullish(
    v.object({ shipping: v.nullish(v.object({ amount: minor })), tax: v.nullish(v.object({ total_tax_amount: minor })) }),
  ),
});
/** The field that has the amount that was paid. */
const AMOUNTS = {
  session: "amount_total",
  intent: "amount_received",
  invoice: "amount_paid",
  charge: "amount",
  refund: "amount",
  dispute: "amount",
} as const;

/** Reasons of an invoice that bills a subscription again. */
const RENEWALS = ["subscription_cycle", "subscription_update", "subscription_threshold"];

/** An object as Stripe sent it, in which a key may have any place. */
type Raw = Readonly<Record<string, unknown>>;

/** Stripe: https://docs.stripe.com/webhooks. `secrets`: `whsec_...`, any of which verifies. */
export function stripe(secrets: readonly string[]): Sender {
  return {
    async verify({ headers, body, now }) {
      const parts = (headers.get("stripe-signature") ?? "").split(",").map((part) => part.trim().split("="));
      const valuesOf = (name: string): string[] => parts.filter(([own]) => own === name).map(([, value = ""]) => value);
      const [at = ""] = valuesOf("t");
      const signatures = valuesOf("v1").slice(0, MAX_SIGNATURES);
      if (!/^\d{1,12}$/.test(at) || signatures.length === 0) {
        throw unauthorised("stripe-signature: expected t=SECONDS,v1=HEX, as Stripe signs webhooks");
      }
      if (Math.abs(now / 1000 - Number(at)) > TOLERANCE_S) {
        throw unauthorised(`stripe-signature: expected at most ${TOLERANCE_S} seconds between both clocks, got t=${at}`);
      }
      const given = signatures.map((signature) => bytesOf(signature, "hex"));
      if (!(await isSigned(joined(`${at}.`, new Uint8Array(await body())), given, secrets))) {
        throw unauthorised("stripe-signature: no value of AFTERCLICK_STRIPE_SECRET made it. Each endpoint has a secret of its own");
      }
    },
    read(payload, terms): Reading {
      const { type } = payload as { readonly type?: unknown };
      if (typeof type !== "string") throw new Problem(400, "type: expected the type of a Stripe event");
      const event = Object.hasOwn(STRIPE_EVENTS, type) ? STRIPE_EVENTS[type] : undefined;
      const object = ((payload as { readonly data?: { readonly object?: unknown } }).data?.object ?? {}) as Raw;
      if (!event?.form || object.mode === "setup") return { type };
      const state = stateOf(event.form, object, event.state);
      const lines = rawLines(object, event.form, terms);
      const names = namesOf(event.form, object);
      const isOrder = event.effect === "counts" && state === "paid";
      const common = { type, isOurs: lines.length > 0, isOrder, orderId: names[0] };
      if ((payload as { readonly livemode?: unknown }).livemode === false && !terms.tests) return { ...common, told: TEST_MODE };
      if (state === undefined) return { ...common, told: unknownState("data.object.status", object.status) };
      const { form } = event;
      return { ...common, told: toldBy(() => told(form, { type, object, payload, names, state, lines, terms })) };
    },
  };
}

/** The state that an object tells. Null for one that is no payment. Undefined for a status that is not known. */
function stateOf(form: StripeForm, object: Raw, ofType: State | undefined): State | null | undefined {
  const { status, payment_status: payment, captured } = object;
  const known = <T>(table: Readonly<Record<string, T>>, value: unknown, otherwise: T | undefined) =>
    value === undefined || value === null ? otherwise : Object.hasOwn(table, String(value)) ? table[String(value)] : undefined;
  if (form === "session")
    return ofType === "paid" ? known({ paid: "paid", no_payment_required: "paid", unpaid: "pending" }, payment, ofType) : ofType;
  if (form === "intent") return known(INTENT_STATES, status, ofType);
  if (form === "invoice") return known(INVOICE_STATES, status, ofType);
  if (form === "charge") return ofType === "paid" && captured === false ? "authorised" : ofType;
  if (form === "payment") return null;
  return known(STANDS[form], status, true) === undefined ? undefined : null;
}

/** Ids by which events know the payment of an object, the best one first. */
function namesOf(form: StripeForm, object: Raw): string[] {
  const payments = listIn(object.payments, "data").map((each) => idIn((each as Raw | null)?.payment, "payment_intent"));
  const payment = idIn(object, "payment_intent");
  const byForm = {
    session: payment ? [payment, idIn(object, "invoice")] : [idIn(object, "invoice") ?? idIn(object, "id")],
    intent: [idIn(object, "id"), idIn(object, "invoice")],
    charge: [payment ?? idIn(object, "id"), idIn(object, "invoice")],
    refund: [payment ?? idIn(object, "charge")],
    dispute: [payment ?? idIn(object, "charge")],
    invoice: [payment, ...payments, idIn(object, "id")],
    payment: [idIn(object.payment, "payment_intent"), idIn(object, "invoice")],
  };
  return [...new Set(byForm[form].filter((name) => name !== undefined))];
}

/** The id in a field, which may hold the whole object. */
function idIn(object: unknown, name: string): string | undefined {
  const value = (object as Raw | null | undefined)?.[name];
  const own = typeof value === "object" && value !== null ? (value as Raw).id : value;
  return v.is(id, own) ? String(own) : undefined;
}

/** The lines that metadata states. Without any, the whole payment is one line. None if no line has an impression. */
function rawLines(object: Raw, form: StripeForm, { attribute }: Terms): RawLine[] {
  if (form === "refund" || form === "dispute" || form === "payment") return [];
  // An invoice has the metadata of its subscription, in a place that depends on the version of the interface.
  const { subscription_details: older, parent } = object as { readonly [name: string]: Raw | null | undefined };
  const newer = parent?.subscription_details as Raw | null | undefined;
  const owners = [...listIn(object.lines, "data"), older, newer, object] as readonly (Raw | null | undefined)[];
  const all = owners.map((owner) => owner?.metadata).filter((each) => v.is(v.record(v.string(), v.string()), each));
  const named = Object.entries(Object.assign({}, ...all) as Record<string, string>).filter(([name]) => LINE.test(name));
  const reference = object.client_reference_id;
  const whole = typeof reference === "string" && IMPRESSION_ID.test(reference.trim()) ? reference : undefined;
  const lines = (named.length > 0 ? named : [["afterclick", ""]]).map(([name, text], place): RawLine => {
    const [id, amount = ""] = text.trim().split(/\s+/);
    return { raw: { name, amount, single: named.length < 2 }, place, attribution: attribute([id, whole], object) };
  });
  return lines.some(({ attribution }) => attribution) ? lines : [];
}

interface Message {
  readonly type: string;
  readonly object: Raw;
  readonly payload: unknown;
  readonly names: readonly string[];
  readonly state: State | null;
  readonly lines: readonly RawLine[];
  readonly terms: Terms;
}

function told(form: StripeForm, { type, object, payload, names, state, lines, terms }: Message): OrderMessage {
  const at = fieldsOf(v.object({ created }), payload).created;
  if (names.length === 0) throw new Problem(422, "data.object.id: expected the id of a payment");
  if (form === "payment") return { facts: { names }, lines: [] };
  // A payment that takes no money yet states neither an amount nor, of a session, a currency.
  const money = state === "paid" || state === null || form === "charge" ? moneyOf(form, object, terms) : undefined;
  if (form === "refund" || form === "dispute") {
    const stands = STANDS[form][String(object.status)] ?? true;
    const is = { lines: [], rest: money?.paid ?? 0, madeAt: money?.created ?? at, stands, ...(form === "dispute" && { apart: true }) };
    return { facts: { names, refunds: { [String(object.id)]: { at, is } } }, lines: [] };
  }
  const own = linesOf(
    lines,
    (raw) => (raw as RawAmount).name,
    (raw) => lineOf(raw as RawAmount, money?.currency ?? String(object.currency).toUpperCase()),
  );
  const isRefund = type === "charge.refunded";
  // A refunded charge without a payment has an order of another name.
  const isKnown = !isRefund || names[0] !== object.id;
  const boughtAt = form === "charge" ? (money?.created ?? (isRefund ? undefined : at)) : at;
  const facts: OrderFacts = {
    names,
    ...(money && { currency: { at, is: money.currency }, paid: { at, is: money.paid } }),
    ...(own.lines.length > 0 && { lines: { at, is: own.lines } }),
    ...(money?.goods !== undefined && { goods: { at, is: money.goods } }),
    ...(form === "charge" && money && { refunded: { at, is: money.refunded } }),
    ...(isKnown && state && { state: { at, is: state } }),
    ...(isKnown && boughtAt !== undefined && { boughtAt }),
    ...(form === "invoice" && RENEWALS.includes(String(object.billing_reason)) && { renewal: true }),
  };
  return { facts, lines: own.own };
}

/** The amounts of an object, in major units. `goods`: the share that is for goods. @throws {Problem} 422 naming the field. */
function moneyOf(form: keyof typeof AMOUNTS, object: Raw, { gross }: Terms) {
  const { data } = fieldsOf(v.object({ data: v.object({ object: stated }) }), { data: { object } });
  const {
    currency,
    created,
    total_details: ofSession,
    amount_details: ofPayment,
    shipping_cost,
    tax,
    total_taxes,
    ...fields
  } = data.object;
  const amount = fields[AMOUNTS[form]] ?? undefined;
  if (amount === undefined) throw new Problem(422, `data.object.${AMOUNTS[form]}: expected a whole number of minor units`);
  const ofInvoice = total_taxes?.reduce((sum, each) => sum + each.amount, tax ?? 0);
  const taxes = ofSession?.amount_tax ?? ofPayment?.tax?.total_tax_amount ?? ofInvoice ?? 0;
  const shipping = ofSession?.amount_shipping ?? ofPayment?.shipping?.amount ?? shipping_cost?.amount_total ?? 0;
  const apart = shipping + (gross ? 0 : taxes);
  const total = fields.total ?? amount;
  const captured = form === "charge" ? (fields.amount_captured ?? amount) : amount;
  const refunded = fields.amount_refunded ?? 0;
  // Stripe counts the released rest of a partial capture among the refunds.
  const released = refunded >= amount - captured ? amount - captured : 0;
  return {
    ...{ currency, created, paid: inMajor(captured, currency), refunded: inMajor(refunded - released, currency) },
    // The session of a payment may know it, and the payment not.
    goods: (ofSession || apart > 0 || form === "invoice") && total > 0 ? Math.max(total - apart, 0) / total : undefined,
  };
}

interface RawAmount {
  readonly name: string;
  readonly amount: string;
  readonly single: boolean;
}

/** Minor units of a line. A single one may leave them out. @throws {Problem} 422 */
function lineOf({ name, amount, single }: RawAmount, currency: string): { readonly amount?: number } {
  if (amount === "" && single) return {};
  if (/^\d{1,12}$/.test(amount)) return { amount: inMajor(Number(amount), currency) };
  throw new Problem(422, `data.object.metadata.${name}: expected an impression id, a space and an amount in minor units such as 1999`);
}
