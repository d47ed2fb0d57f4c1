import { isTooFew } from "afterclick/research";
import { changingWorld, HORIZON, type LookWorld, look, shownLists, WINDOW } from "../daily-looks.ts";
import { few, type Stated, type StatedFigure, stated } from "./stated-figure.ts";

type World = Omit<LookWorld, "seed">;

const small: World = { lift: 0.2, perDay: 70, longer: 0 };
const many: World = { lift: 0.2, perDay: 4500, longer: 0, rate: () => 0.4 };

/** Worlds in which the difference is the same on all days. */
const WORLDS: Readonly<Record<string, (run: number) => World>> = {
  "5 conversions": () => ({ ...small, perDay: 4 }),
  "100 conversions, a lift of 20 %": () => small,
  "1,500 conversions, a lift of 20 %": () => ({ ...small, perDay: 1000 }),
  "1,500 conversions, delays of seconds": () => ({ ...small, perDay: 1000, meanDelay: 1e-4 }),
  "1,500 conversions, delays of weeks": () => ({ ...small, perDay: 1000, meanDelay: 10 }),
  "1,500 conversions, lists that agree": () => ({ ...small, perDay: 700, longer: 0.5 }),
  "1,500 conversions, a holdout of 5 %": () => ({ ...small, perDay: 1000, shares: [{ from: 0, share: 0.05 }] }),
  "50,000 conversions, a lift of 20 %": () => many,
  "5,000 conversions, no lift, those of the policy sooner": () => ({
    ...small,
    perDay: 3000,
    lift: 0,
    meanDelay: 1,
    treatmentDelay: 0.125,
  }),
  "1,500 conversions, no lift, visitors who come back 20 times": () => ({ ...small, perDay: 1000, lift: 0, visits: 20 }),
  "a share that changes, rates of 10 to 40 %": (run) => changingWorld(run, 600),
};

/** The difference of rates that counts conversions within a time. */
function truthOf({ lift, meanDelay = 3, treatmentDelay = meanDelay, rate = () => 0.05 }: World, within: number): number {
  const share = (mean: number): number => (1 - Math.exp(-within / mean)) / (1 - Math.exp(-WINDOW / mean));
  return rate(0) * ((1 + lift) * share(treatmentDelay) - share(meanDelay));
}

/** The lift over the holdout. A world holds if the intervals of all its looks do. */
export const lift: StatedFigure = {
  id: "lift",
  title: "Lift of the policy over the holdout, at 28 daily looks together",
  settings: Object.keys(WORLDS),
  runs: 300,
  traced: ["100 conversions, a lift of 20 %"],
  async run(setting, run): Promise<readonly Stated[]> {
    const world = WORLDS[setting](run);
    const all = shownLists({ ...world, seed: `lift ${setting} ${run}` });
    let result = few("difference");
    let isWrong = false;
    for (let day = 1; day <= HORIZON; day++) {
      const { difference, within, decided } = look(all, day, "corrected");
      if (isTooFew(difference)) continue;
      const { low, high } = difference;
      isWrong ||= decided && (world.lift > 0 ? high < 0 : true);
      if (result.result === "held" || result.result === "too few") result = stated("difference", { low, high }, truthOf(world, within));
    }
    return [result, { metric: "no wrong decision", result: isWrong ? "above" : "held" }];
  },
};
