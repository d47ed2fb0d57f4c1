import type { OrderFacts, OrderLine } from "./facts.ts";
import { divided } from "./money.ts";

/** The amount that was paid for a line, and the part of it that was paid back, in major units. */
interface LineAmount {
  readonly line: OrderLine;
  readonly paid: number;
  readonly back: number;
}

/**
 * The amounts of an order's lines. Lines that add up to more than was paid for goods shrink to that in proportion, because of a discount or
 * a partial capture. Amounts are divided in whole minor units, so that nothing is lost or made.
 */
export function lineAmounts({ lines, paid, goods, refunded, refunds = {}, ...facts }: OrderFacts): LineAmount[] {
  const currency = facts.currency?.is ?? "";
  const known = lines?.is ?? [];
  const total = paid?.is ?? undefined;
  const forGoods = total === undefined ? undefined : total * (goods?.is ?? 1);
  const stated = known.map(({ amount }) => amount ?? forGoods ?? 0);
  const sum = stated.reduce((all, each) => all + Math.max(each, 0), 0);
  const amounts = forGoods !== undefined && sum > forGoods ? divided(forGoods, stated, currency) : stated;

  const byLine = new Map<string, number>();
  let lump = refunded?.is ?? 0;
  for (const { at, is } of Object.values(refunds)) {
    // The total of refunds has those that were made until then. One that failed since is given back.
    const isInTotal = !is.apart && refunded !== undefined && is.madeAt <= refunded.at;
    const sign = isInTotal ? (is.stands || at <= refunded.at ? 0 : -1) : Number(is.stands);
    lump += sign * is.rest;
    for (const { line, amount } of is.lines) byLine.set(line, (byLine.get(line) ?? 0) + sign * amount);
  }
  const left = amounts.map((amount, place) => {
    const { id, scale = 1 } = known[place];
    return Math.max(amount - scale * (byLine.get(id) ?? 0), 0);
  });
  // Shipping and whatever else was paid bears its share of an amount without lines.
  const other = Math.max((total ?? 0) - amounts.reduce((all, each) => all + each, 0), 0);
  const shares = divided(Math.max(lump, 0), [...left, total === undefined ? 0 : other], currency);
  return known.map((line, place) => {
    const back = Math.max(amounts[place], 0) - Math.max(left[place] - shares[place], 0);
    return { line, paid: rounded(amounts[place]), back: rounded(back) };
  });
}

/** Removes the error of sums and products of decimal fractions. */
export const rounded = (amount: number): number => Math.round(amount * 1e6) / 1e6;
