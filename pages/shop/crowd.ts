import { type Profile, profiles } from "./assortment.ts";

/** Simulated visitors buy after an exponential delay. */
const MEAN_DELAY_MS = 4000;
const LONGEST_DELAY_MS = 20_000;

/** A simulated visit, with the sums over the visits so far. */
export interface Visit {
  /** Whether the first product shown was the visitor's favourite. */
  readonly favourite: boolean;
  /** Expected purchases lost because the first product shown was not the visitor's favourite. */
  readonly model: number;
  /** The same for products drawn uniformly for the same visitors. */
  readonly uniform: number;
}

/** Draws a visitor of any kind. */
export function drawVisitor(): Profile {
  return profiles[Math.floor(Math.random() * profiles.length)];
}

/** Draws the time until a purchase is reported, in ms. */
export function drawDelay(): number {
  return Math.min(-Math.log(1 - Math.random()) * MEAN_DELAY_MS, LONGEST_DELAY_MS);
}

/** The visit of a visitor with these tastes to whom the product `first` was shown first. */
export function visitAfter(before: Visit | undefined, tastes: Profile["tastes"], first: string): Visit {
  const { model, uniform } = before ?? { model: 0, uniform: 0 };
  const chances = Object.values(tastes);
  const best = Math.max(...chances);
  const mean = chances.reduce((sum, chance) => sum + chance, 0) / chances.length;
  return { favourite: tastes[first] === best, model: model + best - tastes[first], uniform: uniform + best - mean };
}
