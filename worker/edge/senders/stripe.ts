// Payments and refunds of Stripe as sales.

import * as v from "valibot";
import { inMajor, refundedBy } from "../../domain/conversion/money.ts";
import type { Attribution } from "../../domain/conversion/order.ts";
import { Problem, unauthorised } from "../../protocol/problem.ts";
import { type Attribute, currency, fieldsOf, id, type Reading, type Sale, type Sender } from "./sender.ts";
import { bytesOf, isSigned, joined } from "./signature.ts";

const TOLERANCE_S = 300;
/** Most signatures that are compared. */
const MAX_SIGNATURES = 8;

/** Names of the metadata that carry an impression id and an amount in minor units. */
const LINE = /^afterclick(_\d+)?$/;
/** Form of an impression id. A `client_reference_id` of another form is the shop's own. */
const IMPRESSION_ID = /^[\w-]{84,}$/;
/** Sessions that take no money, or not yet: a delayed payment is reported again when it succeeds. */
const NO_PAYMENT = { mode: "setup", payment_status: "unpaid" };

const minor = v.pipe(v.number(), v.safeInteger(), v.minValue(0));
const paid = { id, currency };
const session = v.object({ ...paid, amount_total: minor, payment_status: v.string(), payment_intent: v.nullish(id) });
const intent = v.object({ ...paid, amount_received: minor });
const charge = v.object({ ...paid, amount: v.pipe(minor, v.minValue(1)), amount_refunded: minor });

const created = v.pipe(
  v.number(),
  v.safeInteger(),
  v.transform((seconds) => seconds * 1000),
);
const eventOf = <Of extends v.GenericSchema>(object: Of) => v.object({ created, data: v.object({ object }) });
const sessionEvent = eventOf(session);
const intentEvent = eventOf(intent);
const refundEvent = v.object({
  created,
  data: v.object({ object: charge, previous_attributes: v.object({ amount_refunded: minor }) }),
});

/** Sales of each type of event. Orders have the name of their payment, whichever event reports them. */
const TYPES: Readonly<Record<string, (payload: unknown, attribute: Attribute) => Sale[]>> = {
  "checkout.session.completed": sessionSales,
  "checkout.session.async_payment_succeeded": sessionSales,
  "payment_intent.succeeded": intentSales,
  "charge.refunded": refunds,
};

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
    read(payload, _, attribute): Reading {
      const { type } = fieldsOf(v.object({ type: v.string() }), payload);
      if (!Object.hasOwn(TYPES, type)) return { type, sales: [] };
      const sales = TYPES[type](payload, attribute);
      const raw = rawObject(payload);
      return { type, sales, ...(TYPES[type] !== refunds && isPaid(raw) && { orderId: raw.payment_intent ?? raw.id }) };
    },
  };
}

function sessionSales(payload: unknown, attribute: Attribute): Sale[] {
  const raw = rawObject(payload);
  if (!isPaid(raw)) return [];
  const { client_reference_id: reference } = raw;
  const lines = linesOf(raw, attribute, typeof reference === "string" && IMPRESSION_ID.test(reference.trim()) ? reference : undefined);
  if (lines.length === 0) return [];
  const { created, data } = fieldsOf(sessionEvent, payload);
  const { id, payment_intent, amount_total, currency } = data.object;
  return orders(lines, { payment: payment_intent ?? id, total: amount_total, at: created, currency });
}

const isPaid = (raw: Readonly<Record<string, unknown>>): boolean =>
  Object.entries(NO_PAYMENT).every(([name, value]) => raw[name] !== value);

function intentSales(payload: unknown, attribute: Attribute): Sale[] {
  const lines = linesOf(rawObject(payload), attribute);
  if (lines.length === 0) return [];
  const { created, data } = fieldsOf(intentEvent, payload);
  const { id, amount_received, currency } = data.object;
  return orders(lines, { payment: id, total: amount_received, at: created, currency });
}

interface Payment {
  readonly payment: string;
  /** Minor units. */
  readonly total: number;
  readonly at: number;
  readonly currency: string;
}

function orders(lines: readonly Line[], { payment, total, at, currency }: Payment): Sale[] {
  const amounts = amountsOf(lines, total);
  return lines.flatMap(({ name, attribution }, place): Sale[] => {
    if (!attribution) return [];
    return [{ attribution, event: `stripe order ${payment} ${name}`, at, currency, reward: inMajor(amounts[place], currency) }];
  });
}

/**
 * The difference that one refund makes to each line. The totals before and after name it: they lead from 0 to the last total by steps
 * that do not overlap, so their sum is right in any order, also if Stripe makes two events of one refund.
 */
function refunds(payload: unknown, attribute: Attribute): Sale[] {
  const lines = linesOf(rawObject(payload), attribute);
  if (lines.length === 0) return [];
  const { created: at, data } = fieldsOf(refundEvent, payload);
  const { object, previous_attributes: previous } = data;
  const { currency, amount, amount_refunded: total } = object;
  const before = previous.amount_refunded;
  const changes = refundedBy(amountsOf(lines, amount), amount, [before, total], currency);
  return lines.flatMap(({ name, attribution }, place): Sale[] => {
    if (!attribution || changes[place] === 0) return [];
    return [{ attribution, event: `stripe refund ${object.id} ${before}-${total} ${name}`, at, currency, reward: changes[place] }];
  });
}

/** The object as Stripe sent it, in which a key may have any place. */
function rawObject(payload: unknown): Readonly<Record<string, unknown>> {
  return fieldsOf(v.object({ data: v.object({ object: v.record(v.string(), v.unknown()) }) }), payload).data.object;
}

interface Line {
  readonly name: string;
  readonly attribution: Attribution | undefined;
  /** What follows the impression id in the metadata. Undefined for the whole payment. */
  readonly amount: string | undefined;
}

/** The lines that metadata states. Without any, the whole payment is one line. None if no line has an impression. */
function linesOf(object: Readonly<Record<string, unknown>>, attribute: Attribute, whole?: string): Line[] {
  const metadata = v.is(v.record(v.string(), v.string()), object.metadata) ? object.metadata : {};
  const stated = Object.entries(metadata).filter(([name]) => LINE.test(name));
  const lines = stated.map(([name, text]): Line => {
    const [id, amount] = text.trim().split(/\s+/);
    return { name, attribution: attribute([id, whole], object), amount };
  });
  const all = lines.length > 0 ? lines : [{ name: "afterclick", attribution: attribute([whole], object), amount: undefined }];
  return all.some(({ attribution }) => attribution) ? all : [];
}

/** Minor units of each line. A single one may leave them out. @throws {Problem} 422 */
function amountsOf(lines: readonly Line[], total: number): number[] {
  return lines.map(({ name, amount = "" }) => {
    if (amount === "" && lines.length === 1) return total;
    if (/^\d{1,12}$/.test(amount)) return Number(amount);
    throw new Problem(422, `data.object.metadata.${name}: expected an impression id, a space and an amount in minor units such as 1999`);
  });
}
