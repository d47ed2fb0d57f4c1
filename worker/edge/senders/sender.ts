import * as v from "valibot";
import { Problem } from "../../protocol/problem.ts";
import type { HookQuery } from "../../protocol/schema.ts";
import { parsed } from "../../protocol/validation.ts";

/** The impression of a sale, or a key of it. */
export type Attribution =
  | { readonly impressionId: string }
  | { readonly model: string; readonly key: string; readonly action?: string; readonly byPage: false };

/** An order line, or a refund of one. */
export interface Sale {
  readonly attribution: Attribution;
  /** Names the sale, whichever message brings it. It has two spaces, so it meets no event of a webhook. */
  readonly event: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** Major units. Negative for a refund. */
  readonly reward: number;
  readonly currency?: string;
}

/** Attributes a line to its impression id. Without one, to the key that the hook's address names. Undefined: to neither. */
export type Attribute = (impressionId: string | undefined, document: unknown, line?: unknown) => Attribution | undefined;

/** A request before its signature is verified. */
export interface SignedRequest {
  readonly headers: Headers;
  readonly body: () => Promise<ArrayBuffer>;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** The sales of a payload. None if its type, which is named, does not matter, or no line has an impression. */
export interface Reading {
  readonly type: string;
  readonly sales: readonly Sale[];
}

/** A program that reports orders in its own form. */
export interface Sender {
  /** Options that the hook's address need not name. */
  readonly options?: HookQuery;
  /** @throws {Problem} 401 */
  readonly verify: (request: SignedRequest) => Promise<void>;
  /** @throws {Problem} 422 naming the field. */
  readonly read: (payload: unknown, headers: Headers, attribute: Attribute) => Reading;
}

/** Sales with an impression or a key, of the lines that may have one. */
export function attributed(sales: readonly (Omit<Sale, "attribution"> & { readonly attribution: Attribution | undefined })[]): Sale[] {
  return sales.filter((sale): sale is Sale => sale.attribution !== undefined);
}

/** Reads a payload. @throws {Problem} 422 naming the field. */
export function fieldsOf<Schema extends v.GenericSchema>(schema: Schema, payload: unknown): v.InferOutput<Schema> {
  try {
    return parsed(schema, payload);
  } catch (error) {
    throw error instanceof Problem ? new Problem(422, error.message, error.errors) : error;
  }
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
