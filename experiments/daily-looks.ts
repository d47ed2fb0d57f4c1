import { compareArms } from "../comparison/arm-comparison.ts";
import { stream } from "../simulation/stream.ts";

/** Days of an experiment. A run that never decides counts as so many. */
export const HORIZON = 28;
/** Visitors per arm and day with which the test without delay decides in a median of five days. */
export const DEFAULT_TRAFFIC = 1900;
const WINDOW = 14;
const MEAN_DELAY = 3;
const RATE = 0.05;

export type LookTest = "immediate" | "corrected" | "waiting";

export interface LookWorld {
  readonly seed: string;
  /** Relative lift of the treatment. */
  readonly lift: number;
  /** New visitors per arm and day. */
  readonly perDay: number;
  /** Probability that a visitor has a second impression, up to five days later. */
  readonly repeat: number;
  readonly tests?: readonly LookTest[];
}

interface Shown {
  readonly shownAt: number;
  readonly convertedAt?: number;
}

/** One arm's visitors, in the order of their first impression. Visitors differ in their rate, so impressions of one depend. */
function visitorsOf(random: () => number, rate: number, { perDay, repeat }: LookWorld): Shown[][] {
  return Array.from({ length: perDay * HORIZON }, (_, i) => {
    const first = i / perDay;
    const own = repeat > 0 ? rate * 2 * random() : rate;
    const times = random() < repeat ? [first, first + 5 * random()] : [first];
    return times.map((shownAt) => {
      if (random() >= own) return { shownAt };
      // Exponential delays, cut at the window: the base rate is that of conversions that count.
      const delay = -MEAN_DELAY * Math.log(1 - random() * (1 - Math.exp(-WINDOW / MEAN_DELAY)));
      return { shownAt, convertedAt: shownAt + delay };
    });
  });
}

/** What a test knows on a day: conversions at once, conversions so far, or closed windows only. */
const VIEWS: Readonly<Record<LookTest, (visitors: readonly Shown[][], day: number) => Shown[][]>> = {
  immediate: (visitors, day) =>
    seen(visitors, day).map((each) => each.map((one) => (one.convertedAt === undefined ? one : { ...one, convertedAt: one.shownAt }))),
  corrected: seen,
  waiting: (visitors, day) => seen(visitors, day - WINDOW),
};

function seen(visitors: readonly Shown[][], day: number): Shown[][] {
  return visitors.map((each) => each.filter(({ shownAt }) => shownAt <= day)).filter((each) => each.length > 0);
}

/** Days until each test decides. Looks are daily. `HORIZON` if it never does, with `<test>Decided` 0. */
export function decisionDays(world: LookWorld): Record<string, number> {
  const random = stream("looks", world.seed);
  const [control, treatment] = [visitorsOf(random, RATE, world), visitorsOf(random, RATE * (1 + world.lift), world)];
  const days: Record<string, number> = {};
  for (const test of world.tests ?? (["immediate", "corrected", "waiting"] as const)) {
    days[test] = HORIZON;
    days[`${test}Decided`] = 0;
    for (let day = 1; day <= HORIZON; day++) {
      const [a, b] = [control, treatment].map((visitors) => VIEWS[test](visitors, day));
      // With closed windows all impressions have matured. Without delay the law is all 1.
      const { decided } = compareArms(a, b, { window: WINDOW, effect: 0.01, now: day });
      if (!decided) continue;
      days[test] = day;
      days[`${test}Decided`] = 1;
      break;
    }
  }
  return days;
}
