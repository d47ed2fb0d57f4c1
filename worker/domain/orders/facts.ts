// What messages tell about one order. Facts merge to the same result in any order and repetition, because each field is a register.

import { rankOf, type State } from "./states.ts";

/** A value as a message states it. The greatest time wins. */
export interface Stated<T> {
  /** When the sender last changed the value, in ms since 1970. */
  readonly at: number;
  readonly is: T;
}

export interface OrderLine {
  readonly id: string;
  /** Major units, before refunds. Absent: all that was paid for goods. */
  readonly amount?: number;
  /** The amount that counts of each unit that a refund of the line states. Default: 1. */
  readonly scale?: number;
  /** When the line was bought, if not with its order. */
  readonly boughtAt?: number;
  readonly impressionId?: string;
  /** Whether a join key, which is not stored, finds the impression. */
  readonly keyed?: boolean;
  /** The message's line is malformed. An earlier amount stays. */
  readonly unread?: true;
}

/** Money that was paid back, or that a dispute has withdrawn. */
export interface Refund {
  /** Major units of each line. A line with an unknown id changes nothing. */
  readonly lines: readonly { readonly line: string; readonly amount: number }[];
  /** Major units that no line is named for. All lines bear it in proportion to their amounts. */
  readonly rest: number;
  readonly madeAt: number;
  /** Whether the money stays paid back. A failed refund and a dispute that was won give it again. */
  readonly stands: boolean;
  /** Whether the sender's total of refunds has no part of it. */
  readonly apart?: boolean;
}

/** All that is known of an order, or what one message tells. */
export interface OrderFacts {
  /** Ids by which messages know the order. */
  readonly names: readonly string[];
  /** The earliest time that a message states, in ms since 1970. */
  readonly boughtAt?: number;
  readonly currency?: Stated<string>;
  readonly state?: Stated<State>;
  readonly lines?: Stated<readonly OrderLine[]>;
  /** Major units that the customer paid. Null: what the lines add up to. */
  readonly paid?: Stated<number | null>;
  /** The share of the paid amount that is for goods, without shipping. */
  readonly goods?: Stated<number>;
  /** Total of the refunds until then, in major units. */
  readonly refunded?: Stated<number>;
  readonly refunds?: Readonly<Record<string, Stated<Refund>>>;
  /** Whether the order renews a subscription. */
  readonly renewal?: boolean;
}

/** Joins facts of one order. The operation is commutative, associative and idempotent. */
export function merged(one: OrderFacts, other: OrderFacts): OrderFacts {
  const refunds = { ...one.refunds };
  for (const [id, refund] of Object.entries(other.refunds ?? {})) {
    // A refund that has failed does not stand any more.
    refunds[id] = later(Object.hasOwn(refunds, id) ? refunds[id] : undefined, refund, ({ stands }) => [stands ? 0 : 1]) as Stated<Refund>;
  }
  const boughtAt = Math.min(one.boughtAt ?? Number.POSITIVE_INFINITY, other.boughtAt ?? Number.POSITIVE_INFINITY);
  return compact({
    names: [...new Set([...one.names, ...other.names])].sort(),
    boughtAt: Number.isFinite(boughtAt) ? boughtAt : undefined,
    currency: later(one.currency, other.currency, () => []),
    state: later(one.state, other.state, (state) => [rankOf(state)]),
    lines: laterLines(one.lines, other.lines),
    paid: later(one.paid, other.paid, (paid) => [paid ?? 0]),
    goods: later(one.goods, other.goods, (share) => [-share]),
    refunded: later(one.refunded, other.refunded, (total) => [total]),
    refunds: Object.keys(refunds).length > 0 ? refunds : undefined,
    renewal: one.renewal || other.renewal || undefined,
  });
}

/** The later of two statements. Of one time, the greater `ranks` win, and then the greater text, so that the order does not matter. */
function later<T>(one: Stated<T> | undefined, other: Stated<T> | undefined, ranks: (value: T) => number[]): Stated<T> | undefined {
  if (!one || !other) return one ?? other;
  const [own, others] = [one, other].map(({ at, is }) => [at, ...ranks(is)]);
  const difference = own.map((each, place) => each - others[place]).find((each) => each !== 0);
  return (difference ?? (JSON.stringify(one.is) < JSON.stringify(other.is) ? -1 : 1)) < 0 ? other : one;
}

/**
 * The later of two lists of lines. Two lists of one time, which no sender should send, are joined: of a line the greater amount counts for
 * each of its impressions, and for none without one.
 */
function laterLines(one: OrderFacts["lines"], other: OrderFacts["lines"]): OrderFacts["lines"] {
  if (!one || !other || one.at !== other.at) return later(one, other, () => []);
  const known = new Map<string, Stated<OrderLine>>();
  for (const line of [...one.is, ...other.is]) {
    const key = `${line.id} ${line.impressionId ?? ""}`;
    known.set(
      key,
      later(known.get(key), { at: 0, is: line }, ({ amount = 0, keyed }) => [Number(keyed ?? false), amount]) as Stated<OrderLine>,
    );
  }
  const attributed = new Set([...known.values()].flatMap(({ is }) => (is.impressionId === undefined ? [] : is.id)));
  const lines = [...known.keys()].sort().map((key) => known.get(key)?.is as OrderLine);
  return { at: one.at, is: lines.filter(({ id, impressionId }) => impressionId !== undefined || !attributed.has(id)) };
}

/** An object without its undefined fields. */
const compact = <T extends object>(value: T): T => Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined)) as T;
