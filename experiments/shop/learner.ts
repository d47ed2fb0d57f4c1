import type { Points } from "afterclick";

/** An algorithm that chooses products. Every impression counts as a failure until its conversion. */
export interface Learner {
  /** @param points features of the products. Returns the index of the chosen product. */
  choose(points: Points, now: number, round: number): number;
  /** Learns that a product was shown. `id`: the impression's. */
  show(id: string, shown: { readonly index: number; readonly features: Float64Array; readonly now: number }): void;
  /** Learns that an impression converted at a time. */
  convert(id: string, at: number): void;
}
