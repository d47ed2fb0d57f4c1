import { type Stream, stream } from "../../src/simulation/stream.ts";
import { catalogueShop } from "./catalogue-shop.ts";
import { DAY_MS, HOUR_MS, type Shop } from "./shop.ts";
import { geometricMs, logNormalMs } from "./timing.ts";

const HORIZON = 20_000;
/** Least and greatest window, as a share of the horizon. */
const WINDOWS = { long: [0.1, 0.3], short: [0.01, 0.05] } as const;

/** A shop of which everything is drawn at random: catalogue, visitors, effects, rates, delays, batches, drift and slow buyers. */
export function randomShop(windows: keyof typeof WINDOWS, names: readonly (string | number)[]): Shop {
  const random = stream(...names, "shop");
  const between = (low: number, high: number): number => low + (high - low) * random();
  const whole = (low: number, high: number): number => low + random.below(high - low + 1);
  const days = between(30, 90);
  const [own, attributed, interacting] = shares(random);
  const slowCategories = random() < 0.3;
  const spec = {
    horizon: HORIZON,
    stepMs: Math.round((days * DAY_MS) / HORIZON),
    products: whole(10, 60),
    categories: whole(3, 8),
    brands: whole(3, 12),
    attributes: Array.from({ length: whole(2, 8) }, () => (random() < 1 / 3 ? 0 : whole(2, 8))),
    rate: 0.005 * 20 ** random(),
    spread: between(0.5, 1.3),
    ...{ own, attributed, interacting },
    drift: random() < 0.3,
    slowCategories,
  };
  const [least, most] = WINDOWS[windows];
  const windowMs = Math.round(days * DAY_MS * between(least, most));
  // A window between 1.5 and 5 mean delays loses between a fifth and none of the conversions.
  const meanMs = windowMs / between(1.5, 5);
  const law = random() < 0.5 ? geometricMs : logNormalMs;
  const laws = slowCategories ? [law(Math.max(meanMs / 20, HOUR_MS / 60)), law(meanMs)] : [law(meanMs)];
  // Daily batches would often come after a shorter window.
  const batchMs = windowMs >= 3 * DAY_MS && random() < 0.5 ? DAY_MS : undefined;
  return catalogueShop(spec, { laws, windowMs, batchMs }, names);
}

/** Three shares that add up to 1, none below a tenth. */
function shares(random: Stream): number[] {
  const parts = Array.from({ length: 3 }, () => 0.1 + random());
  const sum = parts.reduce((total, each) => total + each, 0);
  return parts.map((each) => each / sum);
}
