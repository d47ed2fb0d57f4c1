// An order as it is kept, with what the models were told of it.

import { merged, type OrderFacts } from "./facts.ts";
import { lineAmounts } from "./line-amounts.ts";
import { STATES } from "./states.ts";

/** An amount that a model is told: of a line, or of the line's refunds, which is negative. */
export interface Told {
  /** Names the record, see `isOfRecord`. */
  readonly event: string;
  /** Id of the line. */
  readonly line: string;
  readonly impressionId?: string;
  /** When it was bought, in ms since 1970, and a ms for each change since. So the latest change counts in the ledger. */
  readonly at: number;
  /** Major units. */
  readonly amount: number;
}

export interface OrderRecord {
  /** The name that events carry. Others may become known later. */
  readonly id: string;
  readonly facts: OrderFacts;
  readonly told: readonly Told[];
}

/**
 * Adds facts to the records that have one of their names, which become one. The caller does so in one transaction, so the records of an
 * order follow each other, and a change always has a later time than what it changes. Facts that are known change nothing.
 */
export function withFacts(sender: string, records: readonly OrderRecord[], facts: OrderFacts): OrderRecord {
  const id = records[0]?.id ?? facts.names[0];
  const all = records.reduce((known, record) => merged(known, record.facts), merged(facts, facts));
  const earlier = records.flatMap(({ told }) => told);
  return { id, facts: all, told: toldOf(`${sender} order ${id}`, `${sender} refund ${id}`, all, earlier) };
}

function toldOf(order: string, refund: string, facts: OrderFacts, earlier: readonly Told[]): Told[] {
  const { state, boughtAt, refunded } = facts;
  const told = new Map<string, Told>();
  const tell = (amount: number, { at: bought, ...named }: Omit<Told, "amount" | "at"> & { readonly at?: number }) => {
    const key = keyOf(named);
    const last = earlier.find((each) => keyOf(each) === key);
    const isNews = last ? last.amount !== amount : amount !== 0 && bought !== undefined;
    const at = last ? last.at + 1 : (bought ?? 0);
    if (isNews) told.set(key, { ...named, at, amount });
    else if (last) told.set(key, last);
  };
  const counts = state !== undefined && STATES[state.is].counts;
  for (const { line, paid, back } of lineAmounts(facts)) {
    const { id, unread, keyed, boughtAt: at = boughtAt } = line;
    const last = earlier.findLast((each) => each.event === `${order} ${id}`);
    if (unread || !(line.impressionId ?? keyed ?? last)) continue;
    const impressionId = line.impressionId ?? last?.impressionId;
    const named = { line: id, ...(impressionId && { impressionId }) };
    // An amount that does not count any more stays as an order that was paid back.
    const bought = counts ? paid : last && last.impressionId === impressionId ? last.amount : 0;
    tell(bought, { ...named, event: `${order} ${id}`, at });
    // Without its state the order is not known by this name. Then its refunds wait in the ledger for it.
    const returned = counts || !state ? back : Math.max(bought, 0);
    tell(-returned || 0, { ...named, event: `${refund} ${id}`, at: at ?? (state ? undefined : refunded?.at) });
  }
  const unread = new Set(facts.lines?.is.flatMap(({ id, unread }) => (unread ? id : [])));
  for (const each of earlier) {
    if (told.has(keyOf(each))) continue;
    // The line was removed, is another impression's by now, or another message states the lines better.
    if (unread.has(each.line) || facts.lines === undefined) told.set(keyOf(each), each);
    else tell(0, each);
  }
  return [...told.values()];
}

/** A record of an impression. Without an impression id it is one that a join key finds. */
const keyOf = ({ event, impressionId = "" }: Pick<Told, "event" | "impressionId">): string => `${event} ${impressionId}`;
