// The outcome of an impression: what it has brought. Which conversions count is not known here.

/** The orders and refunds of a goal with a value: their numbers and sums. */
export interface Amounts {
  readonly orders: number;
  readonly refunds: number;
  readonly paid: number;
  /** Sum of the refunds, not negative. */
  readonly refunded: number;
}

/** Times from an impression to what it has reached, in ms, by goal. */
export type Delays = Readonly<Record<string, number>>;

/** The outcome of an impression: its reward, when it first reached each goal, and the amounts of its orders. */
export interface Outcome {
  /** Reward that the policies have observed; null before the first conversion. */
  readonly reward: number | null;
  readonly converted: boolean;
  /** Whether it has reached goals without a weight alone, so that it may still convert. */
  readonly waits: boolean;
  /** Null if it has reached no goal. */
  readonly delays: Delays | null;
  /** By goal with a value. */
  readonly amounts: Readonly<Record<string, Amounts>> | null;
}

/** The outcome of an impression before its first conversion. */
export const NOTHING: Outcome = { reward: null, converted: false, waits: false, delays: null, amounts: null };

/** Whether all conversions of an impression were taken back. */
export const isRetracted = ({ reward, converted, waits }: Pick<Outcome, "reward" | "converted" | "waits">): boolean =>
  reward !== null && !converted && !waits;
