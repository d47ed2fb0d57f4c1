// Real data: a week of a shop's logs and what they tell of policies that did not make them, a replay of random e-mails, and data sets of classes.
import type { Evaluation } from "afterclick";
import { type Figure, isTooFew } from "afterclick/research";
import { type BanditLog, POSITIONS, readBanditLog } from "./logs/bandit-log.ts";
import { classShop, dataSets, readClasses } from "./logs/classes.ts";
import { type EmailOutcome, emailShop, readEmails } from "./logs/emails.ts";
import { asLogged, inShares, type LogLearner, mostClicked, recommending, uniformly } from "./logs/log-learner.ts";
import { AS_PUBLISHED, classAlgorithms, emailAlgorithms } from "./logs/log-rivals.ts";
import { testThenTrain } from "./logs/test-then-train.ts";
import { type Curve, type Experiment, type Paper, roundsOf, type Task } from "./runs/experiment.ts";
import { DEFAULT, linTs, playBy } from "./shop/algorithms.ts";
import { type DefaultModel, defaultModel } from "./shop/default-model.ts";
import { curvesOf, rewardCurve } from "./shop/play.ts";
import { HOUR_MS } from "./shop/shop.ts";

export const RANDOM = "random log";
export const BTS = "BTS log";
const settings = [RANDOM, BTS];
/** The log of each setting in order, and the items. */
const dataFiles = ["women-random.csv.gz", "women-bts.csv.gz", "women-items.csv"].map((name) => `open-bandit/${name}`);

const logOf = (setting: string, { files }: Task): Promise<BanditLog> => readBanditLog(files[settings.indexOf(setting)], files[2]);

/** About a visit. The data set has no times of clicks, so the models learn that clicks come at once. */
const windowMs = HOUR_MS;

interface Played {
  readonly log: BanditLog;
  readonly model: DefaultModel;
  readonly task: Task;
}

type Start = (played: Played) => LogLearner | Promise<LogLearner>;

/** A policy known by the probabilities of shown items alone. The doubly robust estimate needs those of all items. */
const isOwnSampling = ({ setting, algorithm }: Task): boolean => setting === BTS && algorithm === "BTS";

const policies: Readonly<Record<string, Start>> = {
  default: ({ model }) => recommending(model.recommender),
  LinTS: async ({ model, task }) => recommending(await linTs(model, windowMs, task.run)),
  bestsellers: ({ log }) => mostClicked(log.products.length),
  uniform: () => uniformly,
  BTS: async ({ task }) => (isOwnSampling(task) ? asLogged : inShares((await logOf(BTS, task)).shown)),
};

/** The estimators by their names in results.json. */
export const ESTIMATORS = { ips: "IPS", snips: "self-normalised IPS", doublyRobust: "doubly robust" } as const;

/** The metrics of an estimate, or the number of rows that it lacks. */
function figureCurves(metric: string, figure: Figure, at: readonly number[]): Curve[] {
  if (isTooFew(figure)) return [{ metric: `${metric}, more rows`, at, values: [figure.tooFew.more] }];
  const { value, low, high } = figure;
  const ends = { [metric]: value, [`${metric}, low`]: low, [`${metric}, high`]: high };
  return Object.entries(ends).map(([name, each]) => ({ metric: name, at, values: [each] }));
}

function evaluationCurves(evaluation: Evaluation, estimators: readonly (keyof typeof ESTIMATORS)[]): Curve[] {
  const { weights, support, decisions } = evaluation;
  const at = [decisions.evaluated];
  const stated = estimators.flatMap((name) => figureCurves(ESTIMATORS[name], evaluation[name], at));
  const facts = { "effective rows": weights.effective, "mean weight": weights.mean, "greatest weight": weights.greatest, support };
  return [...stated, ...Object.entries(facts).map(([metric, value]) => ({ metric, at, values: [value] }))];
}

const evaluated: Experiment = {
  id: "policies",
  title: "Open Bandit Dataset, women: clicks per row of policies that did not make the log. The second half, row by row",
  runs: 1,
  settings,
  algorithms: Object.keys(policies),
  figures: [],
  dataFiles,
  async run(task) {
    const { setting, algorithm, run } = task;
    const log = await logOf(setting, task);
    const model = await defaultModel({ windowMs, products: log.products, numeric: log.numeric }, run);
    const learner = await policies[algorithm]({ log, model, task });
    // Computed on access, because the features of all rows would not fit into memory.
    const shown = log.shown.map((each) => ({
      ...each,
      get points() {
        return model.featurize({ context: each.context });
      },
    }));
    return evaluationCurves(await testThenTrain(learner, shown), isOwnSampling(task) ? ["ips", "snips"] : ["ips", "snips", "doublyRobust"]);
  },
};

export const ALL = "all positions";
export const CLICKS = "clicks per row";

const rates: Experiment = {
  id: "rates",
  title: "Open Bandit Dataset, women: clicks per row of each log",
  runs: 1,
  settings,
  algorithms: [...POSITIONS.map((position) => `position ${position}`), ALL],
  figures: [],
  dataFiles,
  async run(task) {
    const { setting, algorithm } = task;
    const { shown } = await logOf(setting, task);
    const own = shown.filter(({ position }) => algorithm === ALL || algorithm === `position ${position}`);
    const { logged } = await testThenTrain(asLogged, own, 0);
    return figureCurves(CLICKS, logged, [own.length]);
  },
};

export const REWARD = "reward per customer";

/** Each outcome with the number of counted customers. */
const outcomes: Readonly<Record<string, { readonly outcome: EmailOutcome; readonly horizon: number }>> = {
  visits: { outcome: "visit", horizon: 6000 },
  purchases: { outcome: "conversion", horizon: 20_000 },
};

const emails: Experiment = {
  id: "emails",
  title: "Hillstrom's e-mails: reward per customer in a replay of the random log, mean delay 2 of 30 days, window 7 days",
  runs: 12,
  settings: Object.keys(outcomes),
  algorithms: Object.keys(emailAlgorithms),
  figures: [{ metric: REWARD, x: "customer", y: REWARD }],
  ratios: [{ metric: REWARD, of: DEFAULT, to: Object.keys(emailAlgorithms).filter((name) => name !== DEFAULT) }],
  dataFiles: ["hillstrom.csv.gz"],
  async run(task) {
    const { setting, algorithm, run, files } = task;
    const { outcome, horizon } = outcomes[setting];
    const shop = emailShop(await readEmails(files[0]), outcome, roundsOf(horizon, task), ["emails", run]);
    return [rewardCurve(REWARD, await playBy(emailAlgorithms[algorithm], shop, algorithm, run))];
  },
};

export const MISTAKES = "cumulative regret";
const ROUNDS = 10_000;
const PUBLISHED = "published features, no delay";

const classSettings: Readonly<Record<string, { readonly isPublished: boolean; readonly delay: number }>> = {
  [PUBLISHED]: { isPublished: true, delay: 0 },
  "published features, 500 rounds": { isPublished: true, delay: 500 },
  "plain PUT, no delay": { isPublished: false, delay: 0 },
  "plain PUT, 500 rounds": { isPublished: false, delay: 500 },
};

/** Mistakes of LinUCB in 10,000 rounds without delay, as Zhang, Zhou, Li and Gu (Neural Thompson sampling, ICLR 2021) print them. */
const printed: Readonly<Record<string, number>> = { shuttle: 967, magic: 2604, adult: 2098 };

const classes = Object.entries(dataSets).map(
  ([id, set]): Experiment => ({
    id,
    title: `UCI's ${id}: mistakes in 10,000 rounds`,
    runs: 12,
    settings: Object.keys(classSettings),
    algorithms: Object.keys(classAlgorithms),
    figures: [{ metric: MISTAKES, x: "round", y: "mistakes" }],
    ratios: [{ metric: MISTAKES, of: DEFAULT, to: Object.keys(classAlgorithms).filter((name) => name !== DEFAULT) }],
    reported: [{ metric: MISTAKES, at: ROUNDS }],
    dataFiles: [set.file],
    paperValue: (setting, algorithm) => (setting === PUBLISHED && algorithm === AS_PUBLISHED ? printed[id] : null),
    async run(task) {
      const { setting, algorithm, run, files } = task;
      const spec = { ...classSettings[setting], horizon: roundsOf(ROUNDS, task) };
      const shop = classShop(await readClasses(files[0], set), spec, ["classes", id, run]);
      return curvesOf(await playBy(classAlgorithms[algorithm], shop, algorithm, run), shop);
    },
  }),
);

export const paper: Paper = {
  id: "logs",
  title: "Real data: the Open Bandit Dataset (Saito et al. 2021), Hillstrom's e-mails, classes of UCI",
  experiments: [rates, evaluated, emails, ...classes],
};
