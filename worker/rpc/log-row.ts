import type { StoredConversion } from "../domain/conversion.ts";
import type { StoredImpression } from "../domain/impression.ts";

/** A row of the event log, in the order of the sequence that all tables share. */
export type LogRow =
  | ({ readonly type: "impression" } & StoredImpression & { readonly keys: readonly string[] })
  | ({ readonly type: "conversion" } & StoredConversion)
  | { readonly type: "mark"; readonly seq: number; readonly mark: string; readonly content: string };
