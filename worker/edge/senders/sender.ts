// The contract of a sender of orders, and the refunds that all of them share.

import * as v from "valibot";
import { type Attribution, dividedRefund, type Order, type Refund } from "../../domain/conversion/order.ts";
import { Problem } from "../../protocol/problem.ts";
import { parsed } from "../../protocol/validation.ts";
import type { HookQuery } from "./hook-query.ts";

/** An order line, or a refund of one. */
export interface Sale {
  readonly attribution: Attribution;
  /** Names the sale, whichever message brings it, see `recordEvent`. */
  readonly event: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** Major units. Negative for a refund. */
  readonly reward: number;
  readonly currency?: string;
}

/**
 * Attributes a line to the first usable one of some impression ids. Without one, to the key that the hook's address names. Undefined: to
 * neither.
 */
export type Attribute = (impressionIds: readonly unknown[], document: unknown, line?: unknown) => Attribution | undefined;

/** A request before its signature is verified. */
interface SignedRequest {
  readonly headers: Headers;
  readonly body: () => Promise<ArrayBuffer>;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** The sales of a payload. None if its type, which is named, does not matter, or no line has an impression. */
export interface Reading {
  readonly type: string;
  readonly sales: readonly Sale[];
  /** Id of the order that the payload reports, as the sender wrote it. Undefined: it reports none. */
  readonly orderId?: unknown;
  /** An order whose refunds do not repeat all its lines. */
  readonly order?: Order;
  readonly refund?: RefundMessage;
}

/** A refund that may need the lines of its order. */
export interface RefundMessage {
  /** Id of the order. */
  readonly order: string;
  /** Whether a line of the refund has an impression. */
  readonly isOurs: boolean;
  /** @throws {Problem} 422 naming the field. */
  readonly read: () => Refund;
}

/** A program that reports orders in its own form. */
export interface Sender {
  /** Options that the hook's address need not name. */
  readonly options?: HookQuery;
  /** @throws {Problem} 401 */
  readonly verify: (request: SignedRequest) => Promise<void>;
  /** @throws {Problem} 422 naming the field, if a line of the payload has an impression. */
  readonly read: (payload: unknown, headers: Headers, attribute: Attribute) => Reading;
}

/** Reads a payload. @throws {Problem} 422 naming the field. */
export function fieldsOf<Schema extends v.GenericSchema>(schema: Schema, payload: unknown): v.InferOutput<Schema> {
  try {
    return parsed(schema, payload);
  } catch (error) {
    throw error instanceof Problem ? new Problem(422, error.message, error.errors) : error;
  }
}

/** The sales of a refund: of its lines, and of those of its order if that is known. */
export function refundSales(sender: string, refund: Refund, order?: Order): Sale[] {
  const { at, currency = order?.currency } = refund;
  return dividedRefund(refund, order).flatMap(({ id, amount, attribution }): Sale[] => {
    if (!attribution || amount === 0) return [];
    return [{ attribution, event: `${sender} refund ${id}`, at, reward: -amount, ...(currency && { currency }) }];
  });
}

/** The first minute after an event, in ms. */
const MINUTE_MS = 60_000;

/**
 * The time of a revision of an event. A later revision has a later time, so it counts, but stays near the event, so that the event's
 * window decides. After a minute, a second becomes a millisecond.
 */
export function revisedAt(at: number, revised: number): number {
  const late = Math.max(revised - at, 0);
  return at + Math.min(late, MINUTE_MS) + Math.floor(Math.max(late - MINUTE_MS, 0) / 1000);
}

/** An id of the sender. Without spaces, so that names made of ids are unique. */
export const id = v.pipe(
  v.union([v.string(), v.number()]),
  v.transform((value: string | number) => String(value)),
  v.regex(/^[!-~]{1,128}$/, "expected an id of 1 to 128 printable ASCII characters without a space"),
);

/** A decimal number, or a text of one. */
export const amount = v.pipe(
  v.union([v.number(), v.pipe(v.string(), v.decimal())]),
  v.transform((text: string | number): number => Number(text)),
  v.finite(),
);

export const currency = v.pipe(v.string(), v.toUpperCase(), v.regex(/^[A-Z]{3}$/, "expected the code of a currency, such as EUR"));
