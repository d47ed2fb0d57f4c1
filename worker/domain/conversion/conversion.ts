import type { ConversionEvent } from "./event.ts";

/** Result of entering a delivered conversion. */
export type LedgerStatus = "applied" | "duplicate" | "late" | "conflict" | "orphan";

/** Result of ingesting a conversion. `unsampled`, `unlearnt`: its impression was left out of learning. `unknown`: there is no such model. */
export type IngestedStatus = LedgerStatus | "unsampled" | "unlearnt" | "unknown" | "refused";

/**
 * Status of a stored conversion. A void one was undone by a rollback, and the policies did not take a refused one. Both are stored so that
 * a repetition is a duplicate.
 */
export type ConversionStatus = Exclude<LedgerStatus, "duplicate"> | "void" | "refused";

export interface StoredConversion extends ConversionEvent {
  readonly seq: number;
  readonly status: ConversionStatus;
  /** Join key and action of a keyed event. Null if the event named its impression. */
  readonly key: string | null;
  readonly action: string | null;
}
