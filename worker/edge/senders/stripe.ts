import * as v from "valibot";
import { inMajor, refundedBy } from "../../domain/money.ts";
import { Problem, unauthorised } from "../../protocol/problem.ts";
import { type Attribute, attributed, currency, fieldsOf, id, type Reading, type Sale, type Sender } from "./sender.ts";
import { bytesOf, isSigned, joined } from "./signature.ts";

const TOLERANCE_S = 300;
/** Most signatures that are compared. */
const MAX_SIGNATURES = 8;

/** Names of the metadata that carry an impression id and an amount in minor units. */
const LINE = /^afterclick(_\d+)?$/;
/** Form of an impression id. A `client_reference_id` of another form is the shop's own. */
const IMPRESSION_ID = /^[\w-]{84,}$/;

const minor = v.pipe(v.number(), v.safeInteger(), v.minValue(0));
const metadata = v.nullish(v.record(v.string(), v.string()), {});
const paid = { id, currency, metadata };
const session = v.object({
  ...paid,
  amount_total: minor,
  payment_status: v.string(),
  payment_intent: v.nullish(id),
  client_reference_id: v.nullish(v.string()),
});
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
      return { type, sales: Object.hasOwn(TYPES, type) ? TYPES[type](payload, attribute) : [] };
    },
  };
}

function sessionSales(payload: unknown, attribute: Attribute): Sale[] {
  const { created, data } = fieldsOf(sessionEvent, payload);
  const { object } = data;
  // A delayed payment is reported again when it succeeds.
  if (object.payment_status === "unpaid") return [];
  const reference = object.client_reference_id ?? "";
  const lines = linesOf(object.metadata, object.amount_total, IMPRESSION_ID.test(reference) ? reference : undefined);
  return orders(lines, object.payment_intent ?? object.id, created, object.currency, (line) => attribute(line.id, rawObject(payload)));
}

function intentSales(payload: unknown, attribute: Attribute): Sale[] {
  const { created, data } = fieldsOf(intentEvent, payload);
  const { object } = data;
  const lines = linesOf(object.metadata, object.amount_received);
  return orders(lines, object.id, created, object.currency, (line) => attribute(line.id, rawObject(payload)));
}

function orders(lines: readonly Line[], payment: string, at: number, currency: string, of: (line: Line) => ReturnType<Attribute>): Sale[] {
  return attributed(
    lines.map((line) => ({
      attribution: of(line),
      event: `stripe order ${payment} ${line.name}`,
      ...{ at, currency, reward: inMajor(line.amount, currency) },
    })),
  );
}

/**
 * The difference that one refund makes to each line. The totals before and after name it: they lead from 0 to the last total by steps
 * that do not overlap, so their sum is right in any order, also if Stripe makes two events of one refund.
 */
function refunds(payload: unknown, attribute: Attribute): Sale[] {
  const { created: at, data } = fieldsOf(refundEvent, payload);
  const { object, previous_attributes: previous } = data;
  const { currency, amount, amount_refunded: total } = object;
  const lines = linesOf(object.metadata, amount);
  const before = previous.amount_refunded;
  const amounts = lines.map((line) => line.amount);
  const changes = refundedBy(amounts, amount, [before, total], currency);
  return attributed(
    lines.map((line, place) => ({
      attribution: attribute(line.id, rawObject(payload)),
      event: `stripe refund ${object.id} ${before}-${total} ${line.name}`,
      ...{ at, currency, reward: changes[place] },
    })),
  ).filter(({ reward }) => reward !== 0);
}

/** The object as Stripe sent it, in which a key may have any place. */
const rawObject = (payload: unknown): unknown => (payload as { readonly data: { readonly object: unknown } }).data.object;

interface Line {
  readonly name: string;
  readonly id: string | undefined;
  /** Minor units. */
  readonly amount: number;
}

/** The lines that metadata states. Without any, the whole payment is one line. @throws {Problem} 422 */
function linesOf(metadata: Readonly<Record<string, string>>, total: number, whole?: string): Line[] {
  const stated = Object.entries(metadata).filter(([name]) => LINE.test(name));
  if (stated.length === 0) return [{ name: "afterclick", id: whole, amount: total }];
  return stated.map(([name, text]) => {
    const [id, amount = stated.length === 1 ? String(total) : ""] = text.trim().split(/\s+/);
    if (/^\d{1,12}$/.test(amount)) return { name, id, amount: Number(amount) };
    throw new Problem(422, `data.object.metadata.${name}: expected an impression id, a space and an amount in minor units such as 1999`);
  });
}
