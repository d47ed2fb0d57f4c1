import { divided } from "./money.ts";

/** The impression of a sale, or a key of it. */
export type Attribution =
  | { readonly impressionId: string }
  | { readonly model: string; readonly key: string; readonly action?: string; readonly byPage: false };

/** The lines of an order. A refund may name the order alone. */
export interface Order {
  readonly id: string;
  readonly currency: string;
  /** Amounts are in major units. A line without an impression bears its share of a refund too. */
  readonly lines: readonly { readonly id: string; readonly amount: number; readonly attribution?: Attribution }[];
}

export interface Refund {
  readonly id: string;
  /** Id of the order. */
  readonly order: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly currency?: string;
  readonly lines: readonly RefundLine[];
  /** Major units that were paid back beyond the lines' amounts. Negative if less was paid back. */
  readonly rest: number;
}

interface RefundLine {
  readonly id: string;
  /** Id of the order line. */
  readonly line: string;
  readonly amount: number;
  readonly attribution?: Attribution;
}

/**
 * The lines of a refund, with the amount that each pays back. An amount beyond the lines is divided among all lines of the order in
 * proportion to their amounts, if the order is known.
 */
export function dividedRefund({ id, lines, rest, currency = "" }: Refund, order?: Order): RefundLine[] {
  const known = new Map(order?.lines.map((line) => [line.id, line]));
  const less = divided(
    Math.max(-rest, 0),
    lines.map(({ amount }) => amount),
    currency,
  );
  const named = lines.map(({ attribution, ...own }, place) => {
    return { ...own, amount: own.amount - less[place], attribution: attribution ?? known.get(own.line)?.attribution };
  });
  if (!order || rest <= 0) return named;
  const more = divided(
    rest,
    order.lines.map(({ amount }) => amount),
    order.currency,
  );
  return [
    ...named,
    ...order.lines.map(({ id: line, attribution }, place) => ({ id: `${id} ${line}`, line, amount: more[place], attribution })),
  ];
}
