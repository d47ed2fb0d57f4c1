import { DelayEstimate } from "afterclick/research";
import { type ArmComparison, compareArms } from "../src/comparison/arm-comparison.ts";
import { type ArmStep, armSteps } from "../src/comparison/arm-step.ts";
import { commonLaw, type Laws } from "../src/comparison/laws.ts";
import { type ArmDelays, ProductDelays } from "../src/comparison/product-laws.ts";
import { stream } from "../src/simulation/stream.ts";

/** Days of an experiment. A run that never decides counts as so many. */
export const HORIZON = 28;
/** Lists per day with which the test without delay decides in a median of five days. */
export const DEFAULT_TRAFFIC = 3800;
export const WINDOW = 14;
/** Steps of time per day in which lists are counted together. */
const STEPS = 24;

export type LookTest = "immediate" | "corrected" | "waiting";

/** A share of the lists that are assigned to the control, and the first day with it. */
export interface SharePhase {
  readonly from: number;
  readonly share: number;
}

export interface LookWorld {
  readonly seed: string;
  /** Relative lift of the treatment. */
  readonly lift: number;
  /** New lists per day. */
  readonly perDay: number;
  /** Mean delay of conversions in days, default 3. */
  readonly meanDelay?: number;
  /** Mean delay in the treatment, if it differs. */
  readonly treatmentDelay?: number;
  /** Lists of each visitor. The arm is that of the visitor, and so is the rate: few visitors convert, and often. Default: one. */
  readonly visits?: number;
  /** Probability that a list has more than one impression. The visitor of a list has a rate of their own, so these depend. */
  readonly longer: number;
  /** Default: half of the lists. */
  readonly shares?: readonly SharePhase[];
  /** Rate of the control on a day, default 5 %. */
  readonly rate?: (day: number) => number;
  readonly tests?: readonly LookTest[];
}

export interface Shown {
  readonly visitor: number;
  /** Default: there is one. */
  readonly product?: number;
  readonly shownAt: number;
  readonly size: number;
  readonly delays: readonly number[];
  readonly arm: "control" | "treatment";
  /** Place of its share among those of the world. */
  readonly stratum: number;
}

const HALVES: readonly SharePhase[] = [{ from: 0, share: 0.5 }];

/** All lists of an experiment, in order of time. */
export function shownLists(world: LookWorld): Shown[] {
  const { seed, lift, perDay, longer, meanDelay = 3, treatmentDelay = meanDelay, visits, shares = HALVES, rate = () => 0.05 } = world;
  const random = stream("looks", seed);
  const visitors = Array.from({ length: visits ? (perDay * HORIZON) / visits : 0 }, () => ({ uniform: random(), keen: random() < 0.1 }));
  return Array.from({ length: perDay * HORIZON }, (_, i) => {
    const shownAt = i / perDay;
    const stratum = shares.findLastIndex(({ from }) => from <= shownAt);
    const visitor = visits ? random.below(visitors.length) : i;
    const arm = (visitors[visitor]?.uniform ?? random()) < shares[stratum].share ? "control" : "treatment";
    const size = random() < longer ? 2 + Math.floor(2 * random()) : 1;
    const keen = visits ? (visitors[visitor].keen ? 10 : 0) : 1;
    const mean = keen * rate(shownAt) * (arm === "treatment" ? 1 + lift : 1);
    const late = arm === "treatment" ? treatmentDelay : meanDelay;
    const own = longer > 0 ? mean * 2 * random() : mean;
    const converting = Array.from({ length: size }, () => random() < own).filter((each) => each);
    // Exponential delays, cut at the window: the base rate is that of conversions that count.
    const delays = converting.map(() => -late * Math.log(1 - random() * (1 - Math.exp(-WINDOW / late))));
    return { visitor, shownAt, size, delays, arm, stratum };
  });
}

/** What a test knows on a day: conversions at once, conversions so far, or closed windows only. */
const VIEWS: Readonly<Record<LookTest, { readonly delayed: number; readonly until: (day: number) => number }>> = {
  immediate: { delayed: 0, until: (day) => day },
  corrected: { delayed: 1, until: (day) => day },
  waiting: { delayed: 1, until: (day) => day - WINDOW },
};

/** The statement of a test on a day. @param window in days */
export function look(all: readonly Shown[], day: number, test: LookTest, window = WINDOW): ArmComparison {
  const { delayed, until } = VIEWS[test];
  const stepOf = (time: number): number => Math.floor(time * STEPS) / STEPS;
  const seen = all.filter(({ shownAt }) => shownAt <= until(day));
  const strata = Array.from({ length: seen.reduce((most, { stratum }) => Math.max(most, stratum + 1), 1) }, (_, stratum) => {
    const of = (arm: Shown["arm"]): ArmStep[] => {
      const own = seen.filter((each) => each.arm === arm && each.stratum === stratum);
      return armSteps(
        own.map(({ shownAt, size, product, delays }) => ({
          ...{ shownAt, size, product: nameOf(product) },
          came: delays.filter((delay) => shownAt + delayed * delay <= day).length,
        })),
        stepOf,
      );
    };
    return { control: of("control"), treatment: of("treatment") };
  });
  return compareArms(strata, lawsOf(seen, day, { delayed, window }), { effect: 0.01, now: day });
}

const nameOf = (product = 0): string => String(product);

/** The laws of delays that both arms share, as the lift of the worker states them. */
function lawsOf(seen: readonly Shown[], day: number, { delayed, window }: { readonly delayed: number; readonly window: number }): Laws {
  const grid = DelayEstimate.grid(window);
  const cells = seen.flatMap(({ shownAt, arm, product, delays }): ArmDelays[] => {
    const cohort = Math.floor(shownAt / grid.cohort);
    const come = delays.map((delay) => delayed * delay).filter((delay) => shownAt + delay <= day);
    const age = day - (cohort + 1) * grid.cohort;
    return come.map((delay) => ({ arm, cohort, age, bin: grid.bin(delay), groups: { [nameOf(product)]: 1 } }));
  });
  const shown = seen.map(({ shownAt, size, product }) => ({ age: day - shownAt, groups: { [nameOf(product)]: size } }));
  const common = (): Laws => {
    const estimate = new DelayEstimate({ window });
    for (const { shownAt, size } of seen) estimate.show(shownAt, size);
    for (const { shownAt, delays } of seen) {
      for (const delay of delays) if (shownAt + delayed * delay <= day) estimate.convert({ shownAt, at: shownAt + delayed * delay });
    }
    estimate.advance(day);
    return commonLaw(estimate);
  };
  return new ProductDelays(cells, window).shared({ control: "control", treatment: "treatment", shown, common });
}

/** Days until each test decides. Looks are daily. `HORIZON` if it never does, with `<test>Decided` 0. */
export function decisionDays(world: LookWorld): Record<string, number> {
  const all = shownLists(world);
  const days: Record<string, number> = {};
  for (const test of world.tests ?? (["immediate", "corrected", "waiting"] as const)) {
    const first = Array.from({ length: HORIZON }, (_, i) => i + 1).find((day) => look(all, day, test).decided);
    days[test] = first ?? HORIZON;
    days[`${test}Decided`] = first === undefined ? 0 : 1;
  }
  return days;
}

/** Shares of the control before and after a change. */
const CHANGES = [
  [0.5, 0.1],
  [0.1, 0.3],
  [0, 0.2],
  [0.05, 0.5],
  [0.3, 0, 0.3],
] as const;

/** A world without a lift, whose share changes while the rate of both arms goes from 10 to 40 %, steadily or at the change. */
export function changingWorld(run: number, perDay: number): LookWorld {
  const random = stream("changing", String(run));
  const at = 3 + 15 * random();
  const shares = CHANGES[run % CHANGES.length].map((share, i) => ({ from: i * at, share }));
  const steadily = (day: number): number => 0.1 + (0.3 * day) / HORIZON;
  const atOnce = (day: number): number => (day < at ? 0.1 : 0.4);
  const rate = run % 2 === 0 ? steadily : atOnce;
  return { seed: `c-${run}`, lift: 0, perDay, longer: 0.3, shares, rate, tests: ["corrected"] };
}
