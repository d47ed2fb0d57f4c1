import { delayLinTs, type Goals, Recommender } from "afterclick";
import { stream } from "../../src/simulation/stream.ts";
import type { Curve } from "../runs/experiment.ts";

const DAY_MS = 86_400_000;
const SHOWN_DAYS = 4.5;
const IMPRESSIONS = 3000;
/** Chance of a click, and of a purchase after it. */
const [CLICK, BUY] = [0.3, 0.3];
/** Value of a click. */
const WEIGHT = 0.01;

/**
 * The conversions that reach the recommender. "purchases": purchases alone. "goals": clicks and purchases, each as a goal. "sum": clicks
 * and purchases too, but without declared goals, so their rewards add up.
 */
export type Reported = "purchases" | "goals" | "sum";

const GOALS: Goals = { click: { weight: WEIGHT }, purchase: { weight: 1 } };

/**
 * Error of the estimate of purchases after 4.5 days. Clicks come within seconds, purchases 2 to 5 days late: some are still to come. The
 * longest delays have not been seen, so nothing can tell of them.
 */
export async function estimate(reported: Reported, names: readonly (string | number)[]): Promise<Curve[]> {
  const luck = stream(...names);
  const recommender = await Recommender.create({
    policy: delayLinTs({ dimension: 1 }),
    window: { ms: 7 * DAY_MS },
    ...(reported === "goals" && { goals: GOALS }),
  });
  const end = DAY_MS * (1 + SHOWN_DAYS);
  const events: { readonly at: number; readonly tell: () => void }[] = [];
  for (let i = 0; i < IMPRESSIONS; i++) {
    const [impressionId, now] = [`${i}`, DAY_MS + Math.floor((SHOWN_DAYS * DAY_MS * i) / IMPRESSIONS)];
    events.push({ at: now, tell: () => recommender.register({ impressionId, features: [1], now }) });
    const [clicking, seconds, buying, days] = [luck(), luck(), luck(), luck()];
    const later = (goal: string, delay: number, reward: number): void => {
      const at = now + Math.floor(delay);
      if (at <= end) events.push({ at, tell: () => recommender.convert({ impressionId, goal, reward, at }) });
    };
    if (clicking >= CLICK) continue;
    if (reported !== "purchases") later("click", 5000 * seconds, reported === "goals" ? 1 : WEIGHT);
    if (buying < BUY) later("purchase", DAY_MS * (2 + 3 * days), 1);
  }
  for (const { tell } of events.sort((a, b) => a.at - b.at)) tell();
  const [clicks, purchases] = [reported === "purchases" ? 0 : WEIGHT * CLICK, CLICK * BUY];
  const error = Math.abs(recommender.policy.predict([[1]]).mean[0] - clicks - purchases);
  return [{ metric: "error of the estimate", at: [IMPRESSIONS], values: [error] }];
}
