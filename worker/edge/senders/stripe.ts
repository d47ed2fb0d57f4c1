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
  type RawLine,
  type Reading,
  type Sender,
  TEST_MODE,
  type Terms,
  type Told,
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

const minor = v.pipe(v.number(), v.safeInteger(), v.minValue(0));
const created = v.pipe(
  v.number(),
  v.safeInteger(),
  v.transform((seconds) => seconds * 1000),
);
const optional = v.nullish(minor);
const part = v.nullish(v.looseObject({ amount_shipping: optional, amount_tax: optional }));
const FORMS = {
  session: v.object({ id, currency: code, amount_total: minor, total_details: part }),
  intent: v.object({ id, currency: code, amount_received: optional, amount: optional }),
  charge: v.object({
    id,
    currency: code,
    amount: minor,
    amount_captured: optional,
    amount_refunded: v.nullish(minor, 0),
    created: v.nullish(created),
  }),
  refund: v.object({ id, currency: code, amount: minor, created: v.nullish(created) }),
  invoice: v.object({
    id,
    currency: code,
    amount_paid: minor,
    total: optional,
    tax: optional,
    shipping_cost: v.nullish(v.object({ amount_total: optional })),
  }),
};
const message = v.object({ created });

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
      const common = { type, isOurs: lines.length > 0, ...(isOrder && { orderId: names[0] }) };
      if ((payload as { readonly livemode?: unknown }).livemode === false && !terms.tests) return { ...common, ignored: TEST_MODE };
      if (state === undefined) return { ...common, ignored: unknownState("data.object.status", object.status) };
      const { form } = event;
      return { ...common, told: () => told(form, { object, payload, names: v.parse(v.array(v.string()), names), state, lines, terms }) };
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
  const subscription = [object.subscription_details, (object.parent as Raw | null | undefined)?.subscription_details] as (
    | Raw
    | null
    | undefined
  )[];
  const invoiced = listIn(object.lines, "data").map((each) => (each as Raw | null)?.metadata);
  const all = [...invoiced, ...subscription.map((each) => each?.metadata), object.metadata].filter((each) =>
    v.is(v.record(v.string(), v.string()), each),
  );
  const stated = Object.entries(Object.assign({}, ...all) as Record<string, string>).filter(([name]) => LINE.test(name));
  const reference = object.client_reference_id;
  const whole = typeof reference === "string" && IMPRESSION_ID.test(reference.trim()) ? reference : undefined;
  const lines = stated.map(([name, text], place): RawLine => {
    const [id, amount = ""] = text.trim().split(/\s+/);
    return { raw: { name, amount, single: stated.length === 1 }, place, attribution: attribute([id, whole], object) };
  });
  const one = { raw: { name: "afterclick", amount: "", single: true }, place: 0, attribution: attribute([whole], object) };
  return [...lines, ...(lines.length === 0 ? [one] : [])].some(({ attribution }) => attribution) ? (lines.length > 0 ? lines : [one]) : [];
}

interface Message {
  readonly object: Raw;
  readonly payload: unknown;
  readonly names: readonly string[];
  readonly state: State | null;
  readonly lines: readonly RawLine[];
  readonly terms: Terms;
}

function told(form: StripeForm, { object, payload, names, state, lines, terms }: Message): Told {
  const at = fieldsOf(message, payload).created;
  if (names.length === 0) throw new Problem(422, "data.object.id: expected the id of a payment");
  if (form === "payment") return { facts: { names }, lines: [] };
  if (form === "refund" || form === "dispute") return { facts: { names, ...paidBack(form, object, at) }, lines: [] };
  const money = moneyOf(form, object, state, terms);
  const own = linesOf(
    lines,
    (raw) => (raw as { readonly name: string }).name,
    (raw) => lineOf(raw as RawAmount, money.currency ?? ""),
  );
  const isKnown = form !== "charge" || names[0] !== idIn(object, "id") || isPlaced(payload);
  const facts: OrderFacts = {
    names,
    ...(money.currency && { currency: money.currency }),
    ...(own.lines.length > 0 && { lines: { at, is: own.lines } }),
    ...(state === "paid" && { paid: { at, is: money.paid } }),
    ...(money.goods !== undefined && { goods: { at, is: money.goods } }),
    ...(money.refunded !== undefined && { refunded: { at, is: money.refunded } }),
    // A charge without a payment has an order of another name, if the shop reports one.
    ...(isKnown && state && { state: { at, is: state } }),
    ...(isKnown && money.boughtAt !== null && { boughtAt: money.boughtAt ?? at }),
    ...(form === "invoice" && RENEWALS.includes(String(object.billing_reason)) && { renewal: true }),
  };
  return { facts, lines: own.own };
}

/** Whether a charge is reported for its payment, and not for its refund. */
const isPlaced = (payload: unknown): boolean => (payload as { readonly type: string }).type !== "charge.refunded";

interface Money {
  readonly currency?: string;
  readonly paid: number;
  /** Share of the paid amount that is for goods. */
  readonly goods?: number;
  readonly refunded?: number;
  /** Null: the object does not say. Undefined: the time of the event. */
  readonly boughtAt?: number | null;
}

/** What an object says about money, in major units. */
function moneyOf(form: "session" | "intent" | "charge" | "invoice", object: Raw, state: State | null, { gross }: Terms): Money {
  const unpaid = state !== "paid" && v.is(v.nullish(v.string()), object.currency);
  const placed = <Schema extends v.GenericSchema>(schema: Schema): v.InferOutput<Schema> => {
    return fieldsOf(v.object({ data: v.object({ object: schema }) }), { data: { object } }).data.object as v.InferOutput<Schema>;
  };
  // A payment that takes no money yet states neither an amount nor, of a session, a currency.
  if (unpaid) return { currency: v.is(code, object.currency) ? object.currency.toUpperCase() : undefined, paid: 0 };
  if (form === "session") {
    const { currency, amount_total: total, total_details: details } = placed(FORMS.session);
    const apart = (details?.amount_shipping ?? 0) + (gross ? 0 : (details?.amount_tax ?? 0));
    return { currency, paid: inMajor(total, currency), ...(details && total > 0 && { goods: Math.max(total - apart, 0) / total }) };
  }
  if (form === "intent") {
    const { currency, amount_received } = placed(v.object({ ...FORMS.intent.entries, amount_received: minor }));
    return { currency, paid: inMajor(amount_received, currency) };
  }
  if (form === "invoice") {
    const { currency, amount_paid, total, tax, shipping_cost } = placed(FORMS.invoice);
    const taxes = listIn(object, "total_taxes").reduce((sum: number, each) => sum + Number((each as Raw | null)?.amount ?? 0), tax ?? 0);
    const apart = (shipping_cost?.amount_total ?? 0) + (gross ? 0 : taxes);
    return { currency, paid: inMajor(amount_paid, currency), ...(total && { goods: Math.max(total - apart, 0) / total }) };
  }
  const { currency, amount, amount_captured, amount_refunded, created } = placed(FORMS.charge);
  const captured = amount_captured ?? amount;
  // Stripe counts the released rest of a partial capture among the refunds.
  const released = amount_refunded >= amount - captured ? amount - captured : 0;
  const isPlacedNow = object.payment_intent === undefined || object.payment_intent === null;
  return {
    ...{ currency, paid: inMajor(captured, currency), refunded: inMajor(amount_refunded - released, currency) },
    boughtAt: created ?? (isPlacedNow && amount_refunded === 0 ? undefined : null),
  };
}

/** A refund or a dispute. A lost dispute and a refund that stands keep their amount. */
function paidBack(form: "refund" | "dispute", object: Raw, at: number): Pick<OrderFacts, "refunds"> {
  const { id, amount, currency, created } = fieldsOf(FORMS.refund, object);
  const stands = STANDS[form][String(object.status)] ?? true;
  const is = { lines: [], rest: inMajor(amount, currency), madeAt: created ?? at, stands, ...(form === "dispute" && { apart: true }) };
  return { refunds: { [id]: { at, is } } };
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
