import type { ConversionStatus } from "../../domain/conversion/conversion.ts";
import type { ByKey, ConversionEvent } from "../../domain/conversion/event.ts";
import { shownAtOf } from "../../domain/ids/uuid.ts";
import type { ImpressionRow, ImpressionState } from "../../domain/impression/impression.ts";

/** An impression or a conversion of a past log. */
export type PastRow = PastImpressionRow | PastConversionRow;
type PastImpressionRow = ImpressionRow & { readonly state: ImpressionState };
export type PastConversionRow = { readonly event: ConversionEvent & Partial<ByKey>; readonly status: ConversionStatus };

/** When the earliest impression of some rows was shown, in ms since 1970. Infinity without rows. */
export function oldestOf(rows: readonly PastRow[]): number {
  return Math.min(...rows.map((row) => shownAtOf("features" in row ? row.id : row.event.impression)));
}

/** The rows in their order: impressions of one state that follow each other together, and each conversion alone. */
export function batchesOf(rows: readonly PastRow[]): (PastImpressionRow[] | PastConversionRow)[] {
  const batches: (PastImpressionRow[] | PastConversionRow)[] = [];
  for (const row of rows) {
    const last = batches.at(-1);
    if (!("features" in row)) batches.push(row);
    else if (Array.isArray(last) && last[0].state === row.state) last.push(row);
    else batches.push([row]);
  }
  return batches;
}
