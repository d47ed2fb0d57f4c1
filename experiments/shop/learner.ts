import type { Points } from "afterclick/research";

/** An algorithm that chooses products. Every impression counts as a failure until its conversion. */
export interface Learner {
  /** @param points features of the products. Returns the index of the chosen product. */
  choose(points: Points, now: number, round: number): number;
  /** Learns that a product was shown. `id`: the impression's. */
  show(id: string, shown: { readonly index: number; readonly features: Float64Array; readonly now: number }): void;
  /** Learns the reward of an impression at a time. `previous`: the reward that it replaces. */
  convert(id: string, at: number, reward?: number, previous?: number): void;
}
