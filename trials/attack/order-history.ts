// Random histories of orders, as the systems of a shop tell them, and what each order comes to. The expected amount is read off the last
// true state, so it knows nothing of messages.

/** A whole number below another one. */
export type Below = (limit: number) => number;

/** A message of a vendor. `topic`: the header that names its type. */
export interface OrderMessage {
  readonly vendor: "stripe" | "shopify" | "woocommerce" | "erp";
  readonly topic: string;
  readonly payload: object;
}

interface OrderHistory {
  /** In the order in which they are delivered: permuted, repeated, and without some that later ones make superfluous. */
  readonly messages: readonly OrderMessage[];
  /** Cents that the order comes to in the end. */
  readonly total: number;
  /** Cents of each line. Absent if a refund names no line. */
  readonly lines?: readonly number[];
}

/** A message and what it may be lost for: any later message of the same subject states it again. */
interface Sent extends Omit<OrderMessage, "vendor"> {
  readonly subject: string;
}

interface True {
  readonly sent: readonly Sent[];
  readonly total: number;
  readonly lines?: readonly number[];
}

/** A configuration of the sender `erp`, which has the form of `AFTERCLICK_SENDERS`. */
export const ERP = {
  ...{ event: "$.number", items: "$.rows", line: "sku", impressionId: "notes[name=seen].text", reward: "sum", currency: "$.money" },
  ...{ timestamp: "$.ordered", revised: "$.changed", unit: "seconds", when: { path: "$.phase", values: ["open", "done"] } },
  refunds: { items: "$.credits", amount: "amount" },
} as const;

const WORLDS = { stripe, shopify, woocommerce, erp };
const VENDORS = ["stripe", "shopify", "woocommerce", "erp"] as const;

interface Wanted {
  readonly ids: readonly string[];
  /** Milliseconds since 1970. */
  readonly now: number;
  /** Makes ids unique. */
  readonly name: number;
  readonly vendors?: readonly OrderMessage["vendor"][];
}

/** A history of one order, of which each line has an impression. */
export function orderHistory(below: Below, { ids, now, name, vendors = VENDORS }: Wanted): OrderHistory {
  const vendor = vendors[below(vendors.length)];
  const { sent, ...truth } = WORLDS[vendor]({ below, ids, name, start: Math.floor(now / 1000) });
  const needed = sent.filter(({ subject }, place) => below(3) > 0 || sent.findLastIndex((each) => each.subject === subject) === place);
  const messages = [...needed, ...needed.filter(() => below(3) === 0)].map(({ topic, payload }) => ({ vendor, topic, payload }));
  for (let place = messages.length - 1; place > 0; place--) {
    const other = below(place + 1);
    [messages[place], messages[other]] = [messages[other], messages[place]];
  }
  return { messages, ...truth };
}

interface Setting {
  readonly below: Below;
  readonly ids: readonly string[];
  readonly name: number;
  /** Seconds since 1970. */
  readonly start: number;
}

const decimal = (cents: number): string => (cents / 100).toFixed(2);
const sum = (amounts: readonly number[]): number => amounts.reduce((all, each) => all + each, 0);
const iso = (seconds: number): string => new Date(1000 * seconds).toISOString().replace(".000", "");

function shopify({ below, ids, name, start }: Setting): True {
  const lines = ids.map((value, place) => {
    const quantity = 1 + below(3);
    return { id: 10 * name + place, value, price: 500 + below(5000), quantity, current: quantity, refunded: 0 };
  });
  const refunds: { id: number; lump: number; at: number; items: { line: number; units: number }[] }[] = [];
  let [status, cancelled, at] = [["pending", "authorized", "paid"][below(3)], 0, start];
  const sent: Sent[] = [];
  const lineOf = (place: number) => {
    const { id, price, quantity, current, refunded, value } = lines[place];
    const properties = [{ name: "_afterclick", value }];
    return { id, price: decimal(price), quantity, current_quantity: current - refunded, discount_allocations: [], properties };
  };
  const refundOf = ({ id, lump, at, items }: (typeof refunds)[number]) => ({
    ...{ id, order_id: name, created_at: iso(at) },
    refund_line_items: items.map(({ line, units }, place) => {
      return { id: id + place, quantity: units, subtotal: (lines[line].price * units) / 100, line_item: lineOf(line) };
    }),
    order_adjustments: lump > 0 ? [{ kind: "refund_discrepancy", amount: decimal(-lump) }] : [],
    transactions: [],
  });
  const tell = (topic: string) => {
    const payload = {
      ...{ id: name, currency: "EUR", created_at: iso(start), updated_at: iso(at), test: false, financial_status: status },
      ...{ cancelled_at: cancelled ? iso(cancelled) : null, line_items: lines.map((_, place) => lineOf(place)) },
      refunds: refunds.map(refundOf),
    };
    sent.push({ topic, payload, subject: "order" });
  };
  const values = () => lines.map(({ price, current, refunded }) => price * (current - refunded));
  const lumps = () => sum(refunds.map(({ lump }) => lump));
  tell("orders/create");
  for (let step = below(6); step > 0 && !cancelled; step--) {
    at += 2 + below(50);
    const [line, act] = [below(lines.length), below(6)];
    const { current, refunded } = lines[line];
    const left = current - refunded;
    if (act === 0) status = "voided";
    else if (act === 1) cancelled = at;
    else if (act === 2 || status !== "paid") status = "paid";
    else if (act === 3 && left > 0) lines[line].current -= 1 + below(left);
    else if (act === 4 && left > 0) {
      const units = 1 + below(left);
      lines[line].refunded += units;
      refunds.push({ id: 10 * name + refunds.length, lump: 0, at, items: [{ line, units }] });
    } else if (act === 5) refunds.push({ id: 10 * name + refunds.length, lump: 1 + below(900), at, items: [] });
    const refund = refunds.at(-1);
    if (refund?.at === at && below(2) === 0) sent.push({ topic: "refunds/create", payload: refundOf(refund), subject: "order" });
    tell(cancelled ? "orders/cancelled" : "orders/updated");
  }
  const counts = status === "paid" && !cancelled;
  const amounts = counts ? values() : lines.map(() => 0);
  return { sent, total: Math.max(sum(amounts) - (counts ? lumps() : 0), 0), ...(lumps() === 0 && { lines: amounts }) };
}

function woocommerce({ below, ids, name, start }: Setting): True {
  const totals = ids.map(() => 500 + below(5000));
  const statuses = ["checkout-draft", "pending", "on-hold", "processing", "completed", "cancelled", "failed", "refunded", "trash"];
  let [status, deleted] = ["checkout-draft", false];
  const refunds: number[] = [];
  const sent: Sent[] = [];
  for (let [step, at] = [1 + below(7), start]; step > 0 && !deleted; step--, at += 2 + below(50)) {
    const left = sum(totals) - sum(refunds);
    if (below(3) === 0 && left > 1) refunds.push(1 + below(left - 1));
    else if (below(9) === 0) deleted = sent.length > 0;
    else status = statuses[below(statuses.length)];
    const payload = {
      ...{ id: name, status, currency: "EUR", date_created_gmt: iso(start).slice(0, -1), date_modified_gmt: iso(at).slice(0, -1) },
      ...{ date_paid_gmt: null, meta_data: [], refunds: refunds.map((total, id) => ({ id, reason: "", total: decimal(-total) })) },
      line_items: ids.map((value, place) => {
        const meta_data = [{ id: 9, key: "_afterclick", value }];
        return { id: 1 + place, product_id: 5, quantity: 1, total: decimal(totals[place]), total_tax: "0.00", meta_data };
      }),
    };
    if (deleted) status = "trash";
    sent.push({ topic: sent.length > 0 ? "order.updated" : "order.created", payload: { ...payload, status }, subject: "order" });
  }
  const counts = ["processing", "completed"].includes(status);
  return {
    ...{ sent, total: counts ? sum(totals) - sum(refunds) : 0 },
    ...((refunds.length === 0 || !counts) && { lines: counts ? totals : totals.map(() => 0) }),
  };
}

function erp({ below, ids, name, start }: Setting): True {
  const rows = ids.map((text, place) => ({ sku: `sku-${place}`, notes: [{ name: "seen", text }], cents: 500 + below(5000) }));
  let [phase, credits, at] = ["cart", [] as number[], start];
  const sent: Sent[] = [];
  for (let step = 1 + below(6); step > 0; step--, at += 2 + below(50)) {
    const act = below(3);
    if (act === 0) phase = ["cart", "open", "done", "void"][below(4)];
    else if (act === 1) rows[below(rows.length)].cents = 500 + below(5000);
    else credits = below(2) === 0 ? [] : [1 + below(400)];
    const payload = {
      ...{ number: `N-${name}`, money: "EUR", ordered: start, changed: at, phase },
      rows: rows.map(({ cents, ...row }) => ({ ...row, sum: decimal(cents) })),
      credits: credits.map((cents) => ({ amount: decimal(cents) })),
    };
    sent.push({ topic: "", payload, subject: "order" });
  }
  const counts = ["open", "done"].includes(phase);
  const amounts = rows.map(({ cents }) => (counts ? cents : 0));
  return {
    sent,
    total: Math.max(sum(amounts) - (counts ? sum(credits) : 0), 0),
    ...((credits.length === 0 || !counts) && { lines: amounts }),
  };
}

function stripe({ below, ids, name, start }: Setting): True {
  const amounts = ids.map(() => 500 + below(5000));
  const amount = sum(amounts);
  const metadata = Object.fromEntries(ids.map((id, place) => [`afterclick_${place + 1}`, `${id} ${amounts[place]}`]));
  const [payment, charge] = [`pi_${name}`, `ch_${name}`];
  let [at, captured, refunded, taken] = [start, 0, 0, 0];
  const sent: Sent[] = [];
  const tell = (topic: string, subject: string, object: object) => {
    const payload = { id: `evt_${name}_${sent.length}`, type: topic, created: at, livemode: true, data: { object } };
    sent.push({ topic, payload, subject });
  };
  const tellIntent = (type: string, status: string) =>
    tell(`payment_intent.${type}`, "intent", { id: payment, status, amount, amount_received: captured, currency: "eur", metadata });
  const tellCharge = (type: string) =>
    tell(`charge.${type}`, "charge", {
      ...{
        id: charge,
        payment_intent: payment,
        amount,
        amount_captured: captured,
        captured: captured > 0,
        currency: "eur",
        created: start,
      },
      // Stripe counts the released rest of a partial capture among the refunds.
      ...{ amount_refunded: refunded + (captured > 0 ? amount - captured : 0), metadata },
    });
  if (below(3) === 0) {
    const object = { id: `cs_${name}`, payment_intent: payment, payment_status: "unpaid", amount_total: amount, currency: "eur", metadata };
    tell("checkout.session.completed", "session", object);
    at += 2 + below(50);
  }
  const manual = below(2) === 0;
  if (manual) {
    tellIntent("amount_capturable_updated", "requires_capture");
    tellCharge("succeeded");
    at += 2 + below(90);
  }
  if (manual && below(4) === 0) {
    tellIntent("canceled", "canceled");
    return { sent, total: 0, lines: amounts.map(() => 0) };
  }
  captured = manual && below(2) === 0 ? 1 + below(amount) : amount;
  tellIntent("succeeded", "succeeded");
  tellCharge(manual ? "captured" : "succeeded");
  for (let step = below(5); step > 0; step--) {
    at += 2 + below(90);
    const left = captured - refunded - taken;
    if (left < 2) break;
    const part = 1 + below(left - 1);
    const object = { id: `re_${name}_${step}`, amount: part, currency: "eur", payment_intent: payment, charge, created: at };
    if (below(4) === 0) {
      const dispute = { ...object, id: `dp_${name}_${step}` };
      tell("charge.dispute.created", dispute.id, { ...dispute, status: "needs_response" });
      taken += part;
      if (below(2) === 0) {
        at += 2 + below(90);
        const status = ["won", "lost"][below(2)];
        tell("charge.dispute.closed", dispute.id, { ...dispute, status });
        if (status === "won") taken -= part;
      }
      continue;
    }
    refunded += part;
    tell("refund.created", object.id, { ...object, status: "succeeded" });
    if (below(2) === 0) tellCharge("refunded");
    if (below(3) === 0) {
      at += 2 + below(90);
      refunded -= part;
      tell("refund.failed", object.id, { ...object, status: "failed" });
    }
  }
  const paidBack = refunded + taken;
  return { sent, total: captured - paidBack, ...(paidBack === 0 && captured === amount && { lines: amounts }) };
}
