// An impression as the learner stores it, and in the form that policies take.

import type { Policy } from "afterclick";
import type { Decision } from "../../protocol/decision.ts";
import type { Assignment } from "../../protocol/figures.ts";
import type { Features } from "../../protocol/schema.ts";
import type { KeyHashes } from "../ids/join-key.ts";
import { shownAtOf } from "../ids/uuid.ts";
import type { Outcome } from "./outcome.ts";

/** Whether the request gave this action its place. Its probability is 1, whatever the policy. */
export function isPinned({ action, decision }: Pick<ImpressionRow, "action" | "decision">): boolean {
  return decision?.asked?.pin?.some((pin) => pin.action === action) ?? false;
}

/** Whether the impression was registered. A registered impression has no numbers except a probability and a place below the first. */
export function isElsewhere({ candidates, score, mean, width, probability, place }: Decision): boolean {
  return candidates === null && (probability !== undefined || place > 0) && score === 0 && mean === 0 && width === 0;
}

export interface ImpressionRow {
  readonly id: string;
  /** Idempotency name of a registration; null for a recommendation. */
  readonly name: string | null;
  readonly action: string;
  readonly features: Float64Array;
  /** The request's context, unchanged. Null if there was none. */
  readonly context: Features | null;
  readonly arm: Assignment;
  /** Version of the model that decided. */
  readonly version: number;
  /** Null if the decision was made elsewhere. */
  readonly decision: Decision | null;
  readonly keys: readonly KeyHashes[];
  /** Whether a page asked for it or registered it, with a publishable key. */
  readonly byPage: boolean;
  /** Exponent j of the sampling by which it was kept: it stands for 2^j impressions. Absent: 0. */
  readonly sampling?: number;
}

/** The places of an impression in its policies. */
export interface Marks {
  /** One slot per policy. */
  readonly slots: readonly number[];
  readonly round: number;
}

/** Live impressions are learnt. Deferred ones are not shown yet. Void ones were rolled back or erased, and their conversions are late. */
export type ImpressionState = "live" | "deferred" | "void";

/** An impression with its outcome. Only a live one has any. */
export interface StoredImpression extends Omit<ImpressionRow, "keys">, Marks, Outcome {
  readonly seq: number;
  readonly sampling: number;
  readonly state: ImpressionState;
  /** After an erasure only the id is left. */
  readonly erased: boolean;
}

/** The place of an impression in its list, 0 for the first. */
export function placeOf({ decision }: Pick<ImpressionRow, "decision">): number {
  return decision?.place ?? 0;
}

/** Id under which a decision's impressions share their keys: that of the list's first. */
export const listOf = ({ id, decision }: Pick<ImpressionRow, "id" | "decision">): string => decision?.first ?? id;

/** An impression in the form that policies take. */
export interface AppendedImpression extends Omit<ReturnType<Policy["append"]>, "slot"> {
  readonly slots: readonly number[];
  readonly action: string;
}

export function appendedOf(impression: Marks & Pick<ImpressionRow, "id" | "action" | "features">): AppendedImpression {
  const { id, action, features, slots, round } = impression;
  return { action, features, slots, round, now: shownAtOf(id) };
}
