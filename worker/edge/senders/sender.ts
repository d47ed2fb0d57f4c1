// The contract of a sender of orders: it verifies a message, and translates it into facts of one order.

import * as v from "valibot";
import type { OrderFacts, OrderLine } from "../../domain/orders/facts.ts";
import { Problem } from "../../protocol/problem.ts";
import { parsed } from "../../protocol/validation.ts";
import type { HookQuery } from "./hook-query.ts";

/** The impression of a line, or a key of it. */
export type Attribution =
  | { readonly impressionId: string }
  | { readonly model: string; readonly key: string; readonly action?: string; readonly byPage: false };

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

/** How the worker reads messages of all senders. */
export interface Terms {
  readonly headers: Headers;
  readonly attribute: Attribute;
  /** Whether amounts include taxes. */
  readonly gross: boolean;
  /** Whether orders of a test mode count. */
  readonly tests: boolean;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** A line of a message with its attribution. `detail`: why a malformed line is refused. */
export interface ReadLine extends Pick<OrderLine, "id"> {
  readonly attribution: Attribution;
  readonly detail?: string;
}

/** The content of a message about its order. */
export interface OrderMessage {
  readonly facts: OrderFacts;
  /** The lines with an impression. */
  readonly lines: readonly ReadLine[];
}

/** A message as its sender reads it. */
export interface Reading {
  /** Type of the message, as its sender names it. */
  readonly type: string;
  /** The id by which the order is counted. */
  readonly orderId?: unknown;
  /** Whether the message reports an order, and not something that happened to one. */
  readonly isOrder?: boolean;
  /** Whether a line has an impression. */
  readonly isOurs?: boolean;
  /** Absent if messages of this type do not matter. */
  readonly told?: OrderMessage | Ignored;
}

/** Why a message is ignored: a name for the counts, and a sentence. */
export interface Ignored {
  readonly reason: string;
  readonly detail: string;
}

export const TEST_MODE: Ignored = {
  reason: "test mode",
  detail: "the order is a test: set AFTERCLICK_TEST_ORDERS to true to count those",
};

/** A state that the worker does not know. The order keeps its amount. */
export function unknownState(field: string, value: unknown): Ignored {
  return { reason: "unknown state", detail: `${field}: this worker does not know ${JSON.stringify(value)}, so the order stays as it was` };
}

/** A program that reports orders in its own form. */
export interface Sender {
  /** Options that the hook's address need not name. */
  readonly options?: HookQuery;
  /** @throws {Problem} 401 */
  readonly verify: (request: SignedRequest) => Promise<void>;
  readonly read: (payload: unknown, terms: Terms) => Reading;
}

/** What `read` returns, or why the message is malformed. */
export function toldBy(read: () => OrderMessage): OrderMessage | Ignored {
  try {
    return read();
  } catch (error) {
    if (error instanceof Problem) return { reason: "malformed", detail: error.message };
    throw error;
  }
}

/** Reads a payload. @throws {Problem} 422 naming the field. */
export function fieldsOf<Schema extends v.GenericSchema>(schema: Schema, payload: unknown): v.InferOutput<Schema> {
  try {
    return parsed(schema, payload);
  } catch (error) {
    throw error instanceof Problem ? new Problem(422, error.message, error.errors) : error;
  }
}

/** A raw line of a message, with its attribution. */
export interface RawLine {
  readonly raw: unknown;
  readonly place: number;
  readonly attribution: Attribution | undefined;
}

/** The lines of an order, and those that have an impression. A malformed line is refused by itself, and leaves the others alone. */
export function linesOf(
  raws: readonly RawLine[],
  idOf: (raw: unknown, place: number) => string,
  read: (raw: unknown, place: number) => Omit<OrderLine, "id">,
): { readonly lines: OrderLine[]; readonly own: ReadLine[] } {
  const own: ReadLine[] = [];
  const lines = raws.flatMap(({ raw, place, attribution }): OrderLine[] => {
    let id = "";
    try {
      id = idOf(raw, place);
      const line = { id, ...read(raw, place) };
      if (!attribution) return [line];
      own.push({ id, attribution });
      return ["impressionId" in attribution ? { ...line, impressionId: attribution.impressionId } : { ...line, keyed: true }];
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      if (attribution) own.push({ id, attribution, detail: error.message });
      return id === "" ? [] : [{ id, amount: 0, unread: true }];
    }
  });
  return { lines, own };
}

/** The list in a field as its sender wrote it. */
export function listIn(value: unknown, name: string): readonly unknown[] {
  const list = (value as Readonly<Record<string, unknown>> | null | undefined)?.[name];
  return Array.isArray(list) ? list : [];
}

/** Names of an attribute that carries an impression id. */
const NAMES = ["_afterclick", "afterclick"];

/** The values of the attributes in a list that may carry an impression id. `field`: the field of an attribute's name. */
export function idsIn(value: unknown, list: string, field: "name" | "key"): unknown[] {
  const attributes = listIn(value, list) as readonly (Readonly<Record<string, unknown>> | null)[];
  return NAMES.flatMap((name) => attributes.filter((each) => each?.[field] === name).map((each) => each?.value));
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
