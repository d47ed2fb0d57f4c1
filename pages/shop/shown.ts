export type ShownStatus = "pending" | "bought" | "converted" | "returned" | "expired" | "late" | "refused";

/** A shown product: one impression. */
export interface Shown {
  readonly impressionId: string;
  readonly product: string;
  readonly profile: string;
  readonly shownAt: number;
  readonly windowEndsAt: number;
  status: ShownStatus;
  /** Whether the reader bought it. */
  own?: boolean;
  /** Time of the purchase. */
  boughtAt?: number;
  /** Time at which the purchase is reported. Set once the product is bought. */
  reportAt?: number;
  /** Time at which the status became final. */
  settledAt?: number;
  /** Whether the reader returned it after its window had ended. */
  returnedLate?: boolean;
}
