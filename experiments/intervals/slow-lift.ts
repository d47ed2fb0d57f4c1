import { isTooFew } from "afterclick/research";
import { stream } from "../../src/simulation/stream.ts";
import { look, type Shown } from "../daily-looks.ts";
import { DAY, type Law, laws } from "./laws.ts";
import type { Stated, StatedFigure } from "./stated-figure.ts";

const DAYS = 21;
const WINDOW_DAYS = 7;
/** Lists a day, and the share of them that is shown products at random. */
const LISTS = 12_000;
const HOLDOUT = 0.2;
/** A quick product and a slow one: rates of conversions within the window. */
const PRODUCTS: readonly { readonly rate: number; readonly law: Law }[] = [
  { rate: 0.05, law: laws.lognormal.quick },
  { rate: 0.06, law: laws.lognormal.slow },
];
const SLOW = 1;

/** The policy's share of the slow product on a day. */
const WORLDS: Readonly<Record<string, (day: number) => number>> = {
  "it has learnt so before": () => 1,
  "it learns so in ten days": (day) => Math.min(0.5 + day / 20, 1),
};

/** A policy that prefers the slow product, which is better, beside a holdout that is shown products at random. */
function shownIn(setting: string, run: number): Shown[] {
  const random = stream("slow-lift", setting, run);
  return Array.from({ length: DAYS * LISTS }, (_, i): Shown => {
    const shownAt = i / LISTS;
    const arm = random() < HOLDOUT ? "control" : "treatment";
    const product = random() < (arm === "control" ? 0.5 : WORLDS[setting](shownAt)) ? SLOW : 0;
    const { rate, law } = PRODUCTS[product];
    const delay = (law.at(shownAt * DAY, random) - shownAt * DAY) / DAY;
    const converts = random() < rate / law.below(WINDOW_DAYS * DAY) && delay <= WINDOW_DAYS;
    return { visitor: i, shownAt, size: 1, product, arm, stratum: 0, delays: converts ? [delay] : [] };
  });
}

/** The first decision for or against a policy that prefers a slow better product. A decision against it is wrong. */
export const slowLift: StatedFigure = {
  id: "slow-lift",
  title: "Lift of a policy that prefers a slow product, which is better: the first decision at 21 daily looks",
  settings: Object.keys(WORLDS),
  runs: 300,
  traced: ["it has learnt so before"],
  async run(setting, run): Promise<readonly Stated[]> {
    const all = shownIn(setting, run);
    let first: { day: number; isRight: boolean } | undefined;
    for (let day = 1; day <= DAYS && !first; day++) {
      const { difference, decided } = look(all, day, "corrected", WINDOW_DAYS);
      if (decided && !isTooFew(difference)) first = { day, isRight: difference.value > 0 };
    }
    const said = (metric: string, isTrue: boolean): Stated => ({ metric, result: isTrue ? "held" : "above" });
    return [
      said("no wrong decision", first?.isRight !== false),
      ...[WINDOW_DAYS, 2 * WINDOW_DAYS, DAYS].map((last) =>
        said(`right decision by day ${last}`, first?.isRight === true && first.day <= last),
      ),
    ];
  },
};
