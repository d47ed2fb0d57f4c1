import { expect } from "vitest";
import { LogMismatch } from "../../../cli/log/event-line.ts";
import { verify } from "../../../cli/verify/verification.ts";
import { receipted } from "../../../worker/domain/ids/receipt.ts";
import { call } from "./client.ts";
import type { Line } from "./fold.ts";

/** The lines of a model's log, as texts. */
export async function exported(model: string, after = 0): Promise<string[]> {
  const { status, body } = await call("GET", `/v1/models/${model}/events?after=${after}`);
  expect(status).toBe(200);
  return body.trimEnd().split("\n");
}

/** The fields of a line without its receipt. */
export const fieldsOf = (text: string): Line => {
  const { receipt: _, ...fields } = JSON.parse(text);
  return fields;
};

/** A log of these lines with matching receipts. */
export function resealed(lines: readonly object[]): string[] {
  let last = "";
  return lines.map((line) => {
    const { text, receipt } = receipted(line, last);
    last = receipt;
    return text;
  });
}

/** The reason for which a log is refused, or "none". */
export async function refusalOf(log: readonly string[]): Promise<string> {
  try {
    await verify(() => log);
  } catch (error) {
    if (error instanceof LogMismatch) return error.message;
    throw error;
  }
  return "none";
}
