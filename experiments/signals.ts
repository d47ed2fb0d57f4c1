// Signals of a shop beside a single conversion: clicks before purchases, amounts of money, places of a list.
import { type Curve, type Experiment, type Paper, type Ratios, roundsOf } from "./runs/experiment.ts";
import { estimate, type Reported } from "./signals/estimate.ts";
import { listExperiments } from "./signals/lists.ts";
import { type PlaySpec, play, type Told } from "./signals/play.ts";
import { restrictions } from "./signals/restrictions.ts";
import { arms, contextual, priced } from "./signals/signal-shop.ts";

const REGRET = "cumulative regret";
const figures = [{ metric: REGRET, x: "visitor", y: "cumulative regret" }];

const reports: Readonly<Record<string, Reported>> = {
  "clicks and purchases as goals": "goals",
  "purchases only": "purchases",
  "clicks and purchases in one sum": "sum",
};

const laws: Experiment = {
  id: "goals",
  title: "A product shown for 4.5 days, with clicks at once and purchases 2 to 5 days late: error of the estimate",
  runs: 50,
  settings: ["purchases at 0.09"],
  algorithms: Object.keys(reports),
  figures: [],
  ratios: [{ metric: "error of the estimate", of: "clicks and purchases as goals", to: ["purchases only"] }],
  run: ({ algorithm, run }) => estimate(reports[algorithm], ["signals", "goals", run]),
};

const FUNNEL = "funnel";
const CORRECTED = "delay-corrected";
const NO_DELAY = "no delay at all";
/** Without its search for changes of rates, which takes late purchases for one, the policy that knows no delays may do better. */
const AS_ZERO = [
  "pending as zero, forgetting changes",
  "pending as zero, forgetting null",
  "pending as zero, forgetting null, exploration 0.11",
];

/** All are `delayLinTs`. They differ in what they are told. */
const signals: Readonly<Record<string, Told>> = {
  [FUNNEL]: { clicks: true, purchases: true, goals: { click: { weight: 0 }, purchase: { weight: 1, after: "click" } } },
  [CORRECTED]: { purchases: true },
  [AS_ZERO[0]]: { purchases: true, concealed: true },
  [AS_ZERO[1]]: { purchases: true, concealed: true, options: { forgetting: null } },
  [AS_ZERO[2]]: { purchases: true, concealed: true, options: { forgetting: null, exploration: 0.11 } },
  "click as a proxy": { clicks: true },
  [NO_DELAY]: { purchases: true, atOnce: true },
};

/** Plays of a shop by each algorithm. */
function plays(
  id: string,
  title: string,
  settings: Readonly<Record<string, PlaySpec>>,
  algorithms: Readonly<Record<string, Told>>,
  ratios: readonly Omit<Ratios, "metric">[],
): Experiment {
  return {
    id,
    title,
    runs: 20,
    settings: Object.keys(settings),
    algorithms: Object.keys(algorithms),
    figures,
    ratios: ratios.map((each) => ({ metric: REGRET, ...each })),
    run(task): Promise<readonly Curve[]> {
      const { setting, algorithm, run } = task;
      const spec = { ...settings[setting], horizon: roundsOf(settings[setting].horizon, task) };
      return play(spec, algorithms[algorithm], ["signals", id, setting, run]);
    },
  };
}

const SHORT = { horizon: 20_000, meanDelay: 1000, window: 3000 };
const LONG = { horizon: 20_000, meanDelay: 5000, window: 15_000 };
const DIFFERENT = arms({ clickSpread: 0.5, buySpread: 0.5 });
const BAIT = arms({ clickSpread: 0.5, buySpread: 0.5, bait: 0.7 });
const ratios = [
  { of: FUNNEL, to: [CORRECTED, NO_DELAY] },
  { of: CORRECTED, to: AS_ZERO },
];

const funnel = plays(
  "funnel",
  "20 actions, clicks about 0.1 at once, purchases per click about 0.2 late",
  {
    "mean 1,000, window 3,000": { ...SHORT, shop: DIFFERENT },
    "mean 1,000, window 3,000, clickbait": { ...SHORT, shop: BAIT },
    "mean 5,000, window 15,000": { ...LONG, shop: DIFFERENT },
    "mean 5,000, window 15,000, clickbait": { ...LONG, shop: BAIT },
    "mean 5,000, window 15,000, equal clicks": { ...LONG, shop: arms({ clickSpread: 0, buySpread: 0.5 }) },
  },
  signals,
  ratios,
);

const context = plays(
  "contextual-funnel",
  "20 candidates with 5 features, drawn anew for each visitor, clicks and purchases per click linear in them",
  {
    "mean 1,000, window 3,000": { ...SHORT, shop: contextual(0) },
    "mean 5,000, window 15,000": { ...LONG, shop: contextual(0) },
    "mean 5,000, window 15,000, clickbait": { ...LONG, shop: contextual(1) },
  },
  signals,
  ratios,
);

const AMOUNTS = "amounts";
const revenue = plays(
  "revenue",
  "20 actions, conversions about 0.05, log-normal orders of mean 60 by action: regret in money",
  { "mean 1,000, window 3,000": { ...SHORT, shop: priced } },
  {
    [AMOUNTS]: { purchases: "amounts", goals: { purchase: { weight: 1, value: { currency: "EUR" } } } },
    "conversions only": { purchases: true },
    "amounts, no delay at all": { purchases: "amounts", atOnce: true, goals: { purchase: { weight: 1, value: { currency: "EUR" } } } },
  },
  [{ of: AMOUNTS, to: ["conversions only"] }],
);

export const paper: Paper = {
  id: "signals",
  title: "Signals of a shop: goals with delays of their own, funnels, amounts",
  experiments: [laws, funnel, context, revenue, ...listExperiments, restrictions],
};
