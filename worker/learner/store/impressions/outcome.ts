import type { Amounts } from "../../../domain/conversion/amounts.ts";
import { type Delays, hasConverted, type ResolvedReward } from "../../../domain/conversion/reward.ts";
import type { StoredImpression } from "../../../domain/impression/impression.ts";
import type { Brought } from "../counts/tally-store.ts";

/** The reward of an impression, when each goal was first reached, and what its orders have brought. */
export interface StoredOutcome extends Brought {
  readonly delays: Delays | null;
  readonly amounts: Readonly<Record<string, Amounts>> | null;
}

/** States of an outcome in the column `converted`. */
const [RETRACTED, WAITS] = [0, 2];
export const CONVERTED = 1;

/** The columns of an outcome that say whether it has converted. */
export type OutcomeRow = { readonly reward: number | null; readonly converted: number };
/** The columns with its details. */
export type DetailsRow = { readonly delays: string | null; readonly amounts: string | null };
export type Details = Pick<StoredOutcome, "delays" | "amounts">;

/** An impression without an outcome. */
export const NOTHING_BROUGHT = { reward: null, converted: false, waits: false };

/** A reward in the form that is stored. */
export function outcomeOf(resolved: ResolvedReward): StoredOutcome {
  const { reward, delays, amounts = null } = resolved;
  const converted = hasConverted(delays);
  const reached = Object.keys(delays).length > 0;
  // A refunded order leaves the goals before it, and is taken back all the same.
  const waits = reached && !converted && !Object.values(amounts ?? {}).some(({ orders }) => orders > 0);
  return { reward, converted, waits, delays: reached ? delays : null, amounts };
}

/** The columns `reward`, `converted`, `delays` and `amounts` of an outcome. */
export function outcomeColumns({ reward, converted, waits, delays, amounts }: StoredOutcome): readonly unknown[] {
  const state = waits ? WAITS : converted ? CONVERTED : RETRACTED;
  return [reward, state, delays && JSON.stringify(delays), amounts && JSON.stringify(amounts)];
}

/** The state of an outcome by its column `converted`. */
export const stateOf = (converted: number | undefined) => ({ converted: converted === CONVERTED, waits: converted === WAITS });

/** Whether all conversions of an impression were taken back. */
export const isRetracted = ({ reward, converted, waits }: Pick<StoredImpression, "reward" | "converted" | "waits">): boolean =>
  reward !== null && !converted && !waits;

/** Conversions and reward of an impression. Null if nothing was observed. */
export function broughtOf({ reward, converted, waits }: Pick<StoredImpression, "reward" | "converted" | "waits">): Brought | null {
  return reward === null ? null : { reward, converted, waits };
}

/** The details of an outcome by its row. */
export function detailsOf(row: DetailsRow | undefined): Details {
  return { delays: JSON.parse(row?.delays ?? "null"), amounts: JSON.parse(row?.amounts ?? "null") };
}
