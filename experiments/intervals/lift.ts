import { isTooFew } from "afterclick";
import { changingWorld, HORIZON, type LookWorld, look, shownLists, WINDOW } from "../daily-looks.ts";
import { type Stated, type StatedFigure, stated } from "./stated-figure.ts";

type World = Omit<LookWorld, "seed">;

const few: World = { lift: 0.2, perDay: 70, longer: 0 };
const many: World = { lift: 0.2, perDay: 4500, longer: 0, rate: () => 0.4 };

/** Worlds in which the difference is the same on all days. */
const WORLDS: Readonly<Record<string, (run: number) => World>> = {
  "5 conversions": () => ({ ...few, perDay: 4 }),
  "100 conversions, a lift of 20 %": () => few,
  "1,500 conversions, a lift of 20 %": () => ({ ...few, perDay: 1000 }),
  "1,500 conversions, delays of seconds": () => ({ ...few, perDay: 1000, meanDelay: 1e-4 }),
  "1,500 conversions, delays of weeks": () => ({ ...few, perDay: 1000, meanDelay: 10 }),
  "1,500 conversions, lists that agree": () => ({ ...few, perDay: 700, longer: 0.5 }),
  "1,500 conversions, a holdout of 5 %": () => ({ ...few, perDay: 1000, shares: [{ from: 0, share: 0.05 }] }),
  "50,000 conversions, a lift of 20 %": () => many,
  "50,000 conversions, delays of weeks": () => ({ ...many, meanDelay: 10 }),
  "a share that changes, rates of 10 to 40 %": (run) => changingWorld(run, 600),
};

/** The difference of rates that counts conversions within a time. */
function truthOf({ lift, meanDelay = 3, rate = () => 0.05 }: World, within: number): number {
  const below = (delay: number): number => 1 - Math.exp(-delay / meanDelay);
  return (lift * rate(0) * below(within)) / below(WINDOW);
}

/** The lift over the holdout. A world holds if the intervals of all its looks do. */
export const lift: StatedFigure = {
  id: "lift",
  title: "Lift of the policy over the holdout, at 28 daily looks together",
  settings: Object.keys(WORLDS),
  runs: 200,
  async run(setting, run): Promise<readonly Stated[]> {
    const world = WORLDS[setting](run);
    const all = shownLists({ ...world, seed: `lift ${setting} ${run}` });
    let result: Stated = { metric: "difference", result: "too few" };
    for (let day = 1; day <= HORIZON; day++) {
      const { difference, within } = look(all, day, "corrected");
      if (isTooFew(difference)) continue;
      result = stated("difference", difference, truthOf(world, within));
      if (result.result !== "held") break;
    }
    return [result];
  },
};
