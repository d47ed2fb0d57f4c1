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
  const before = new Map(earlier.map((each) => [each.event, each]));
  const told = new Map<string, Told>();
  const tell = (event: string, line: string, amount: number, bought?: number, impressionId?: string) => {
    const last = before.get(event);
    const isNews = last ? last.amount !== amount : amount !== 0 && bought !== undefined;
    const at = last ? last.at + 1 : (bought ?? 0);
    const own = last?.impressionId ?? impressionId;
    if (isNews) told.set(event, { event, line, ...(own && { impressionId: own }), at, amount });
    else if (last) told.set(event, last);
  };
  const counts = state !== undefined && STATES[state.is].counts;
  for (const { line, paid, back } of lineAmounts(facts)) {
    const [ofLine, ofRefund] = [`${order} ${line.id}`, `${refund} ${line.id}`];
    const isOurs = line.impressionId !== undefined || line.keyed;
    if (line.unread || !(isOurs || before.has(ofLine))) continue;
    // What does not count any more stays as an order that was paid back.
    const bought = counts ? paid : (before.get(ofLine)?.amount ?? 0);
    const at = line.boughtAt ?? boughtAt;
    tell(ofLine, line.id, bought, at, line.impressionId);
    const returned = counts ? back : Math.max(bought, 0);
    // The refunds of an order that is not known by this name wait in the ledger for it.
    if (state === undefined) tell(ofRefund, line.id, -back || 0, at ?? refunded?.at, line.impressionId);
    else tell(ofRefund, line.id, -returned || 0, at, line.impressionId);
  }
  const unread = new Set(facts.lines?.is.flatMap(({ id, unread }) => (unread ? id : [])));
  for (const { event, line } of earlier) {
    if (told.has(event)) continue;
    // The line was removed, or another message states the lines better.
    if (unread.has(line) || facts.lines === undefined) told.set(event, before.get(event) as Told);
    else tell(event, line, 0);
  }
  return [...told.values()];
}
