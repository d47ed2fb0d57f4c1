import {
  type Evaluation,
  evaluate,
  evaluateLists,
  type Figure,
  type Goals,
  isTooFew,
  type LoggedDecision,
  type LoggedList,
} from "afterclick";
import { drawRates, EXAMINATION, type KindList, ListPolicy, listLog } from "../../src/simulation/list-world.ts";
import { type Stream, stream } from "../../src/simulation/stream.ts";
import { type Stated, type StatedFigure, stated } from "./stated-figure.ts";

const ACTIONS = 4;
const CONTEXTS = 3;
const MINUTE = 60_000;
const DAY = 86_400_000;
const IDS = Array.from({ length: ACTIONS }, (_, action) => `${action}`);
/** Amounts of orders. */
const AMOUNTS = Array.from({ length: 40 }, (_, i) => 20 * Math.exp(0.7 * Math.sqrt(2) * (((i + 0.5) / 40) * 2 - 1)));
const MEAN_AMOUNT = AMOUNTS.reduce((sum, each) => sum + each, 0) / AMOUNTS.length;

interface World {
  readonly decisions: number;
  readonly rate: number;
  /** Range of the logged log-odds. 0 is uniform. */
  readonly sharpness?: number;
  /** Mean delay of purchases, and the length of the log. Default: at once. */
  readonly delay?: number;
  readonly span?: number;
  readonly window?: number;
  /** Clicks of weight 0 before or beside purchases. */
  readonly clicks?: "before" | "beside";
  readonly amounts?: true;
  readonly sampled?: true;
  /** The log never takes the last action. */
  readonly unsupported?: true;
}

const worlds: Record<string, World> = {
  "5 decisions": { decisions: 5, rate: 0.3 },
  "50 decisions": { decisions: 50, rate: 0.3 },
  "500 decisions": { decisions: 500, rate: 0.1 },
  "5,000 decisions, skewed log": { decisions: 5000, rate: 0.05, sharpness: 4 },
  "50,000 decisions, rare conversions": { decisions: 50_000, rate: 0.004 },
  "delays of seconds": { decisions: 2000, rate: 0.1, delay: 5000, span: DAY, window: 7 * DAY },
  "delays of days, closed and open windows": { decisions: 3000, rate: 0.1, delay: 2 * DAY, span: 14 * DAY, window: 7 * DAY },
  "delays of weeks, no window closed": { decisions: 3000, rate: 0.1, delay: 14 * DAY, span: 5 * DAY, window: 30 * DAY },
  "purchases beside clicks": { decisions: 3000, rate: 0.1, delay: 2 * DAY, span: 14 * DAY, window: 7 * DAY, clicks: "beside" },
  "a funnel": { decisions: 3000, rate: 0.1, delay: 2 * DAY, span: 14 * DAY, window: 7 * DAY, clicks: "before" },
  "amounts, delays": { decisions: 4000, rate: 0.1, delay: DAY, span: 14 * DAY, window: 7 * DAY, amounts: true },
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

async function decisionsOf(setting: string, run: number): Promise<Stated[]> {
  const world = worlds[setting];
  const { decisions, rate, sharpness = 0, delay, span = 1000, window = 1000, clicks, amounts, sampled, unsupported } = world;
  const draw = stream("evaluation", setting, run);
  const table = <Row>(row: () => Row): Row[] => Array.from({ length: CONTEXTS }, row);
  const rates = table(() => Array.from({ length: ACTIONS }, () => rate * (0.2 + 1.6 * draw())));
  const logged = table(() => softmax(sharpness, draw, unsupported ? ACTIONS - 1 : ACTIONS));
  const wanted = table(() => softmax(2, draw));
  const events = (context: number, index: number, shownAt: number) => {
    const clicked = clicks !== undefined && draw() < 0.4;
    const buys = clicks === "before" ? clicked && draw() < rates[context][index] / 0.4 : draw() < rates[context][index];
    const start = clicks === "before" ? MINUTE : 0;
    const at = shownAt + start + (delay === undefined ? 0 : -delay * Math.log(1 - draw()));
    const reward = amounts ? AMOUNTS[draw.below(AMOUNTS.length)] : 1;
    const click = { at: shownAt + MINUTE, reward: 1, goal: "click" };
    return [...(clicked ? [click] : []), ...(buys ? [{ at, reward, goal: "purchase" }] : [])];
  };
  const log = Array.from({ length: decisions }, (_, i): LoggedDecision & { readonly context: number } => {
    const context = draw.below(CONTEXTS);
    const index = pick(logged[context], draw);
    const shownAt = (i * span) / decisions;
    const conversions = events(context, index, shownAt);
    const kept = sampled && i % 2 === 1 ? 0.25 : 1;
    return { context, shownAt, count: ACTIONS, ids: IDS, index, probability: logged[context][index], kept, conversions };
  }).filter(({ kept }) => kept === 1 || draw() < 0.25);
  const inTime = delay === undefined ? 1 : 1 - Math.exp(-(window - (clicks === "before" ? MINUTE : 0)) / delay);
  const value = (chances: readonly (readonly number[])[]): number =>
    (chances.reduce((sum, own, context) => sum + own.reduce((all, chance, a) => all + chance * rates[context][a], 0), 0) / CONTEXTS) *
    inTime *
    (amounts ? MEAN_AMOUNT : 1);
  const goals: Goals | undefined = clicks
    ? { click: { weight: 0 }, purchase: { weight: 1, ...(clicks === "before" && { after: "click" }) } }
    : amounts && { purchase: { weight: 1, value: { currency: "EUR", max: 200 } } };
  const policy = (decision: LoggedDecision): number[] => wanted[(decision as { readonly context?: number }).context as number];
  const evaluation = await evaluate({ log, policy, goals, asOf: span, window: { ms: window } });
  return (["logged", "ips", "snips", "doublyRobust"] as const).map((name) =>
    figure(NAMES[name], evaluation[name], name === "logged" ? value(logged) : value(wanted)),
  );
}

const NAMES: Record<"logged" | "ips" | "snips" | "doublyRobust", string> = {
  logged: "the log's own policy",
  ips: "IPS",
  snips: "self-normalised IPS",
  doublyRobust: "doubly robust",
} satisfies Partial<Record<keyof Evaluation, string>>;

function figure(metric: string, found: Figure, truth: number): Stated {
  return isTooFew(found) ? { metric, result: "too few" } : stated(metric, found, truth);
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
  runs: 1000,
  run: (setting, run) => (setting in worlds ? decisionsOf(setting, run) : listsOf(setting, run)),
};
