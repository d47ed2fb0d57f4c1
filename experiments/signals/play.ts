import { delayLinTs, type Goals, Recommender } from "afterclick";
import type { DelayLinTsOptions } from "afterclick/research";
import { cumulative, type Stream, stream } from "../../src/simulation/stream.ts";
import type { Curve } from "../runs/experiment.ts";
import type { SignalShop } from "./signal-shop.ts";

export interface PlaySpec {
  readonly horizon: number;
  /** Mean of exponential delays of purchases, and the window, in rounds. Clicks come at once. */
  readonly meanDelay: number;
  readonly window: number;
  shop(random: Stream): SignalShop;
}

/** The conversions that reach a recommender. */
export interface Told {
  /** Default: any goal counts 1. */
  readonly goals?: Goals;
  readonly clicks?: boolean;
  /** Whether purchases are reported, and whether by their amount. */
  readonly purchases?: boolean | "amounts";
  /** Whether purchases come at once. */
  readonly atOnce?: boolean;
  /** Whether each purchase is said to have come at once, so that no silent impression is doubted. */
  readonly concealed?: boolean;
  /** Options of the policy that differ from the defaults. */
  readonly options?: Partial<DelayLinTsOptions>;
}

/** Plays `delayLinTs` in a shop. Regret is in purchases, or in money. */
export async function play(spec: PlaySpec, told: Told, names: readonly (string | number)[]): Promise<Curve[]> {
  const { horizon, meanDelay, window } = spec;
  const { goals, clicks, purchases, atOnce, concealed, options } = told;
  const draws = { shop: stream(...names, "shop"), visits: stream(...names, "visits"), luck: stream(...names, "luck") };
  const shop = spec.shop(draws.shop);
  const seed = stream(...names, "seed").below(2 ** 31);
  const policy = delayLinTs({ dimension: shop.dimension, ...options });
  const recommender = await Recommender.create({ policy, window: { ms: window }, goals, seed });
  const due: (() => void)[][] = [];
  const regret = new Float64Array(horizon);
  for (let round = 1; round <= horizon; round++) {
    for (const event of due[round] ?? []) event();
    delete due[round];
    const { points, click, buy, price } = shop.visit(draws.visits);
    const { index, impressionId } = recommender.recommend({ points, now: round }).action;
    const value = click.map((each, i) => each * buy[i] * (price?.[i] ?? 1));
    regret[round - 1] = Math.max(...value) - value[index];
    // Four draws whatever is shown, so that all algorithms meet the same visitors.
    const [clicking, buying, waiting, spending] = [draws.luck(), draws.luck(), draws.luck(), draws.luck.normal()];
    const later = (goal: string, delay: number, reward: number): void => {
      if (delay > window) return;
      const arrival = round + Math.max(delay, 1);
      due[arrival] ??= [];
      due[arrival].push(() => recommender.convert({ impressionId, goal, reward, at: round + (concealed ? 0 : delay) }));
    };
    if (clicking >= click[index]) continue;
    if (clicks) later("click", 0, 1);
    if (!purchases || buying >= buy[index]) continue;
    // The logarithm of amounts has a standard deviation of 1.
    const amount = purchases === "amounts" ? (price?.[index] ?? 1) * Math.exp(spending - 0.5) : 1;
    later("purchase", atOnce ? 0 : Math.ceil(-meanDelay * Math.log(1 - waiting)), amount);
  }
  const total = cumulative(regret);
  const at = Array.from({ length: 100 }, (_, i) => Math.round(((i + 1) * horizon) / 100));
  return [{ metric: "cumulative regret", at, values: at.map((round) => total[round - 1]) }];
}
