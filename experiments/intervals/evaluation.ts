import { type Evaluation, evaluate, evaluateLists, type Goals, type LoggedDecision } from "afterclick";
import { type Figure, isTooFew, type LoggedList } from "afterclick/research";
import { drawRates, EXAMINATION, type KindList, ListPolicy, listLog } from "../../src/simulation/list-world.ts";
import { type Stream, stream } from "../../src/simulation/stream.ts";
import { DAY, exponential, HOUR, type Law, laws, normalBelow } from "./laws.ts";
import { few, type Stated, type StatedFigure, stated } from "./stated-figure.ts";

const ACTIONS = 4;
const CONTEXTS = 3;
const MINUTE = 60_000;
const IDS = Array.from({ length: ACTIONS }, (_, action) => `${action}`);
/** Mean amount of an order. */
const MEAN_AMOUNT = 20;
/** Refunds come so much later than their orders. */
const REFUNDS = { from: 2.5 * DAY, to: 7.5 * DAY };
/** Of visitors who come back, few buy, and much. */
const KEEN = { share: 0.1, factor: 10 };
/** An evaluated policy that takes the same action always. */
const PURE = { slow: ACTIONS - 1, quick: 0 };

interface World {
  readonly decisions: number;
  readonly rate: number;
  /** Range of the logged log-odds. 0 is uniform. */
  readonly sharpness?: number;
  /** Law of the delays of purchases, and the length of the log. Default: at once. */
  readonly law?: Law;
  readonly span?: number;
  readonly window?: number;
  /** Half of the actions are slow by these laws, and the evaluated policy takes one always. */
  readonly slow?: { readonly of: keyof typeof laws; readonly always: keyof typeof PURE };
  /** Clicks of weight 0 before or beside purchases. */
  readonly clicks?: "before" | "beside";
  /** Standard deviation of the logarithm of amounts. Default: purchases count 1. */
  readonly sigma?: number;
  /** The figures with a cap are tried. */
  readonly capped?: true;
  /** Share of orders that are refunded. */
  readonly refunded?: number;
  /** Decisions of each visitor. Default: each visitor comes once. */
  readonly each?: number;
  /** Conversions become known at midnight, and the log is read at 16:00. */
  readonly nightly?: true;
  readonly sampled?: true;
  /** The log never takes the last action. */
  readonly unsupported?: true;
}

const late = { decisions: 3000, rate: 0.1, span: 14 * DAY, window: 7 * DAY };
const ofLaw = (name: keyof typeof laws, span: number): World => ({
  ...late,
  law: laws[name].alike,
  span,
  window: laws[name].alike.windowMs,
});
const halfSlow = (span: number, always: keyof typeof PURE): World => ({
  ...{ decisions: 8000, rate: 0.05, span, window: 7 * DAY },
  slow: { of: "lognormal", always },
});

const worlds: Record<string, World> = {
  "5 decisions": { decisions: 5, rate: 0.3 },
  "50 decisions": { decisions: 50, rate: 0.3 },
  "500 decisions": { decisions: 500, rate: 0.1 },
  "5,000 decisions, skewed log": { decisions: 5000, rate: 0.05, sharpness: 4 },
  "50,000 decisions, rare conversions": { decisions: 50_000, rate: 0.004 },
  "lognormal, 14 days": ofLaw("lognormal", 14 * DAY),
  "Weibull 0.4, 14 days": ofLaw("Weibull 0.4", 14 * DAY),
  "Pareto 0.5, 14 days": ofLaw("Pareto 0.5", 14 * DAY),
  "an hour or a week, 28 days": ofLaw("an hour or a week", 28 * DAY),
  "an hour or a week, 6 days": ofLaw("an hour or a week", 6 * DAY),
  "daily batches, 14 days": ofLaw("daily batches", 14 * DAY),
  "delays of weeks, no window closed": { ...late, law: exponential(14 * DAY, 30 * DAY), span: 5 * DAY, window: 30 * DAY },
  "half slow, 10 days, always a slow action": halfSlow(10 * DAY, "slow"),
  "half slow, 10 days, always a quick action": halfSlow(10 * DAY, "quick"),
  "half slow, 28 days, always a slow action": halfSlow(28 * DAY, "slow"),
  "half slow, 28 days, always a quick action": halfSlow(28 * DAY, "quick"),
  "nightly uploads, 14 days": { ...ofLaw("lognormal", 14 * DAY + 16 * HOUR), nightly: true },
  "visitors who come back 20 times": { decisions: 4000, rate: 0.05, each: 20 },
  "purchases beside clicks": { ...ofLaw("lognormal", 14 * DAY), clicks: "beside" },
  "a funnel": { ...ofLaw("lognormal", 14 * DAY), clicks: "before" },
  "amounts of sigma 0.7": { ...ofLaw("lognormal", 14 * DAY), decisions: 8000, sigma: 0.7 },
  "amounts of sigma 1.5": { ...ofLaw("lognormal", 14 * DAY), decisions: 20_000, sigma: 1.5 },
  "amounts of sigma 1.5, up to the stated cap": { ...ofLaw("lognormal", 14 * DAY), sigma: 1.5, capped: true },
  "amounts of sigma 0.7, 20 % refunded": { ...ofLaw("lognormal", 20 * DAY), decisions: 8000, sigma: 0.7, refunded: 0.2, window: 14 * DAY },
  "a sampled log": { decisions: 4000, rate: 0.1, sharpness: 2, sampled: true },
  "an action that the log never took": { decisions: 2000, rate: 0.1, unsupported: true },
};
const LISTS = ["600 lists", "3,000 lists"];

function softmax(spread: number, draw: Stream, count = ACTIONS): number[] {
  const odds = Array.from({ length: ACTIONS }, (_, action) => (action < count ? Math.exp(spread * draw()) : 0));
  const sum = odds.reduce((total, each) => total + each, 0);
  return odds.map((each) => each / sum);
}

function pick(chances: readonly number[], draw: Stream): number {
  let [index, left] = [0, draw()];
  for (; left >= chances[index] && index < chances.length - 1; index++) left -= chances[index];
  return index;
}

/** Share of orders that count within a time, less those refunded in it. */
function kept({ refunded = 0 }: World, law: Law, withinMs: number): number {
  const parts = Array.from({ length: 100 }, (_, i) => REFUNDS.from + ((i + 0.5) / 100) * (REFUNDS.to - REFUNDS.from));
  const back = parts.reduce((sum, later) => sum + law.below(withinMs - later), 0) / parts.length;
  return law.below(withinMs) - refunded * back;
}

async function decisionsOf(setting: string, run: number): Promise<Stated[]> {
  const world = worlds[setting];
  const { decisions, rate, sharpness = 0, span = 1000, window = 1000, clicks, sigma, sampled, unsupported, slow, each } = world;
  const draw = stream("evaluation", setting, run);
  const cells = <Row>(row: () => Row): Row[] => Array.from({ length: CONTEXTS }, row);
  const rates = cells(() => Array.from({ length: ACTIONS }, () => rate * (slow ? 1 : 0.2 + 1.6 * draw())));
  const logged = cells(() => softmax(sharpness, draw, unsupported ? ACTIONS - 1 : ACTIONS));
  const wanted = cells(() => (slow ? IDS.map((_, action) => Number(action === PURE[slow.always])) : softmax(2, draw)));
  const lawOf = (index: number): Law | undefined => (slow ? laws[slow.of][index < ACTIONS / 2 ? "quick" : "slow"] : world.law);
  const keen = Array.from({ length: each ? decisions / each : 0 }, () => draw() < KEEN.share);
  const start = clicks === "before" ? MINUTE : 0;
  const events = (buying: number, index: number, shownAt: number) => {
    const clicked = clicks !== undefined && draw() < 0.4;
    const buys = clicks === "before" ? clicked && draw() < buying / 0.4 : draw() < buying;
    const at = start + (lawOf(index)?.at(shownAt, draw) ?? shownAt);
    const reward = sigma ? Math.round(100 * MEAN_AMOUNT * Math.exp(sigma * draw.normal() - sigma ** 2 / 2)) / 100 : 1;
    const refund = { at: at + REFUNDS.from + draw() * (REFUNDS.to - REFUNDS.from), reward: -reward, goal: "purchase" };
    const isRefunded = world.refunded !== undefined && draw() < world.refunded;
    const all = [
      ...(clicked ? [{ at: shownAt + MINUTE, reward: 1, goal: "click" }] : []),
      ...(buys ? [{ at, reward, goal: "purchase" }, ...(isRefunded ? [refund] : [])] : []),
    ];
    // The reward when the window has closed.
    const final = all.filter(({ at, goal }) => goal === "purchase" && at - shownAt <= window).reduce((sum, each) => sum + each.reward, 0);
    return { final, conversions: world.nightly ? all.map((event) => ({ ...event, knownAt: Math.ceil(event.at / DAY) * DAY })) : all };
  };
  const log = Array.from({ length: decisions }, (_, i) => {
    const context = draw.below(CONTEXTS);
    const index = pick(logged[context], draw);
    const shownAt = (i * span) / decisions;
    const visitor = each ? draw.below(keen.length) : i;
    const own = each ? (keen[visitor] ? KEEN.factor : 0) : 1;
    const kept = sampled && i % 2 === 1 ? 0.25 : 1;
    const visit = { context, ...(each && { visitor: `${visitor}` }), shownAt, count: ACTIONS, ids: IDS, index };
    return { ...visit, probability: logged[context][index], kept, ...events(rates[context][index] * own, index, shownAt) };
  }).filter(({ kept }) => kept === 1 || draw() < 0.25);
  const goals: Goals | undefined = clicks
    ? { click: { weight: 0 }, purchase: { weight: 1, ...(clicks === "before" && { after: "click" }) } }
    : sigma
      ? { purchase: { weight: 1, value: { currency: "EUR" } } }
      : undefined;
  const policy = (decision: LoggedDecision): number[] => wanted[(decision as { readonly context?: number }).context as number];
  const evaluation = await evaluate({ log, policy, goals, asOf: span, window: { ms: window } });
  const { evaluated } = evaluation.decisions;
  const found = { cap: Number.POSITIVE_INFINITY, ...(world.capped ? evaluation.capped : evaluation) } as Record<
    keyof typeof NAMES,
    Figure | undefined
  > & { readonly cap: number };
  const younger = log.slice(Math.floor(log.length / 2));
  const visitors = younger.map(({ visitor }, i) => visitor ?? `${i}`);
  const within = Math.min(...Object.values(evaluation.withinMs), window);
  const inTime = IDS.map((_, index) => {
    const law = lawOf(index);
    return law ? kept(world, law, within - start) : 1;
  });
  const value = (chances: readonly (readonly number[])[]): number => {
    const sums = chances.map((own, context) => own.reduce((all, chance, a) => all + chance * rates[context][a] * inTime[a], 0));
    return (sums.reduce((sum, each) => sum + each, 0) / CONTEXTS) * (sigma ? meanUpTo(sigma, found.cap) : 1);
  };
  return (["logged", "ips", "snips", "doublyRobust"] as const).map((name) => {
    const chances = name === "logged" ? logged : wanted;
    const finals = younger.map(({ context, index, probability, kept, final }) => {
      return ((chances[context][index] / probability) * Math.min(final, found.cap)) / kept;
    });
    return figure(NAMES[name], found[name], value(chances), 2 * 1.96 * deviationOfMean(finals, visitors, evaluated));
  });
}

/** Standard deviation of the mean of so many. What one visitor does is one observation. */
function deviationOfMean(values: readonly number[], visitors: readonly string[], count: number): number {
  const mean = values.reduce((sum, each) => sum + each, 0) / values.length;
  const sums = new Map<string, number>();
  values.forEach((each, i) => {
    sums.set(visitors[i], (sums.get(visitors[i]) ?? 0) + each - mean);
  });
  return Math.sqrt(Array.from(sums.values()).reduce((sum, each) => sum + each ** 2, 0) / values.length / count);
}

const NAMES: Record<"logged" | "ips" | "snips" | "doublyRobust", string> = {
  logged: "the log's own policy",
  ips: "IPS",
  snips: "self-normalised IPS",
  doublyRobust: "doubly robust",
} satisfies Partial<Record<keyof Evaluation, string>>;

/** Mean of amounts of which each counts at most `cap`. */
function meanUpTo(sigma: number, cap: number): number {
  if (cap === Number.POSITIVE_INFINITY) return MEAN_AMOUNT;
  const z = Math.log(cap / MEAN_AMOUNT) / sigma + sigma / 2;
  return MEAN_AMOUNT * normalBelow(z - sigma) + cap * (1 - normalBelow(z));
}

function figure(metric: string, found: Figure | undefined, truth: number, ideal?: number): Stated {
  return found === undefined || isTooFew(found) ? few(metric) : stated(metric, found, truth, ideal);
}

async function listsOf(setting: string, run: number): Promise<Stated[]> {
  const draw = stream("evaluation", setting, run);
  const rates = drawRates(3, 12, draw);
  const [logging, target] = [
    new ListPolicy(rates, { draws: 40, noise: 1.2 }, draw),
    new ListPolicy(rates, { draws: 40, noise: 0.9 }, draw),
  ];
  const lists = setting === LISTS[0] ? 600 : 3000;
  const log = listLog(rates, logging, { lists, randomShare: 0.3, random: "together" }, draw);
  const chances = rates.map((_, kind) => target.chances(kind));
  const policy = (list: LoggedList): Float64Array => chances[(list as KindList).kind];
  const found = await evaluateLists({ log, policy, examination: EXAMINATION, asOf: 1e12, window: "none" });
  const truth = target.value(EXAMINATION);
  return [figure("item-position", found.itemPosition, truth), figure("position-based", found.positionBased, truth)];
}

export const evaluation: StatedFigure = {
  id: "evaluation",
  title: "Reward of another policy, from a log (`evaluate`, `evaluateLists`)",
  settings: [...Object.keys(worlds), ...LISTS],
  runs: 300,
  traced: ["500 decisions", "lognormal, 14 days", "half slow, 10 days, always a slow action", "a funnel", "a sampled log", "600 lists"],
  run: (setting, run) => (setting in worlds ? decisionsOf(setting, run) : listsOf(setting, run)),
};
