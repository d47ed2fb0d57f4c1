// Algorithms that play on logs and data sets: the worker's default with parts of it left out, and those of others.
import { linUcb, linUcbAsPublished } from "../rivals/optimist.ts";
import { salesPerView } from "../rivals/sales-per-view.ts";
import {
  type Algorithm,
  algorithms,
  BETA_LAW,
  bestsellersOf,
  byBeta,
  byDefault,
  byLinTs,
  DEFAULT,
  greedyOf,
  NULL,
  regCbOf,
  squareCbOf,
  UNEXPLORING,
  uniform,
} from "../shop/algorithms.ts";

type Table = Readonly<Record<string, Algorithm>>;

const linUcbOf =
  (width: number): Algorithm["learner"] =>
  (_, { products }, random) =>
    linUcb(products.length, random, width);

/** Algorithms of others that see features. */
const regressions: Readonly<Record<string, Algorithm["learner"]>> = {
  "LinUCB, width 0.1": linUcbOf(0.1),
  "LinUCB, width 0.5": linUcbOf(0.5),
  LinTS: byLinTs,
  "SquareCB, gamma 1,000": squareCbOf(1000),
  "SquareCB, gamma 10,000": squareCbOf(10_000),
  "epsilon-greedy, 0.05": greedyOf(0.05),
  greedy: greedyOf(0),
  "RegCB, slack 0.01": regCbOf(0.01),
  "RegCB, slack 0.003": regCbOf(0.003),
};

/** Each learner twice: with pending as zero, and waiting for windows. */
const eitherWay = (learners: Readonly<Record<string, Algorithm["learner"]>>): Table =>
  Object.fromEntries(
    (["as zero", "waiting"] as const).flatMap((feedback) =>
      Object.entries(learners).map(([name, learner]) => [
        `${name}, ${feedback === "waiting" ? feedback : "pending as zero"}`,
        { feedback, learner },
      ]),
    ),
  );

const common: Table = {
  [DEFAULT]: algorithms[DEFAULT],
  [UNEXPLORING]: algorithms[UNEXPLORING],
  [NULL]: algorithms[NULL],
  "default, waiting": algorithms["default, waiting"],
};

/** On a log of e-mails. */
export const emailAlgorithms: Table = {
  ...common,
  "default, interactions []": { feedback: "delivered", encoder: { interactions: [] }, learner: byDefault },
  "default, without context": { feedback: "delivered", isImpersonal: true, learner: byDefault },
  [BETA_LAW]: algorithms[BETA_LAW],
  "Beta, pending as zero": { feedback: "as zero", isBlind: true, learner: byBeta },
  "Beta, waiting": { feedback: "waiting", isBlind: true, learner: byBeta },
  ...eitherWay(regressions),
  "sales per view, epsilon 0.05": {
    feedback: "delivered",
    isBlind: true,
    learner: (_, { products }, random) => salesPerView(products.length, 0.05, random),
  },
  bestsellers: { feedback: "delivered", isBlind: true, learner: bestsellersOf(0) },
  "bestsellers, epsilon 0.05": { feedback: "delivered", isBlind: true, learner: bestsellersOf(0.05) },
  uniform: { feedback: "no delay", isBlind: true, learner: uniform },
};

export const AS_PUBLISHED = "LinUCB as published, waiting";

/** Of several options of a rival, the one with the fewest mistakes on runs 1,000 and up. */
const chosen = ["LinUCB, width 0.1", "LinTS", "SquareCB, gamma 10,000", "epsilon-greedy, 0.05", "greedy", "RegCB, slack 0.003"];

/** On data sets of classes. */
export const classAlgorithms: Table = {
  ...common,
  [AS_PUBLISHED]: { feedback: "waiting", learner: (_, { products }, random) => linUcbAsPublished(products.length, random) },
  ...eitherWay(Object.fromEntries(chosen.map((name) => [name, regressions[name]]))),
  uniform: { feedback: "no delay", isBlind: true, learner: uniform },
};
