// Lists whose lower places are examined less: what weights of places are worth, and whether logs give them.
import { delayLinTs, evaluateLists, Recommender } from "afterclick";
import { estimateExamination, isTooFew, type LoggedItem, type LoggedList } from "afterclick/research";
import { type DelayLaw, geometric } from "../../src/simulation/delay-law.ts";
import {
  drawRates,
  EXAMINATION,
  expectedClicks,
  type KindList,
  ListPolicy,
  listLog,
  PLACES,
  ranked,
} from "../../src/simulation/list-world.ts";
import { cumulative, type Stream, shuffled, stream } from "../../src/simulation/stream.ts";
import type { Curve, Experiment, Task } from "../runs/experiment.ts";

const MINUTE = 60_000;
const WINDOW = 500 * MINUTE;
/** Products among which a list is ranked. */
const PRODUCTS = 20;
/** Lists ranked at random. */
const RANDOM_SHARE = 0.05;
const DRAWS = 100;
/** Conversions at the first estimate of the weights. Each later one waits until the log has doubled. */
const FIRST_ESTIMATE = 30;

interface Setting {
  /** Lists of the policy. */
  readonly horizon: number;
  readonly examination: readonly number[];
  /** Lists before the policy, in an order that an editor made: one of two sets of products by turns. */
  readonly edited?: number;
  /** Lists after which a product is replaced by a new one. */
  readonly replacement?: number;
}

const settings: Readonly<Record<string, Setting>> = {
  "from nothing": { horizon: 10_000, examination: EXAMINATION },
  "after 1,000 lists in an editor's order": { horizon: 4000, examination: EXAMINATION, edited: 1000 },
  "a new product every 200 lists": { horizon: 4000, examination: EXAMINATION, replacement: 200 },
  "no position bias": { horizon: 4000, examination: new Array<number>(PLACES).fill(1) },
};

const WITHOUT = "without weights";
const ESTIMATED = "weights estimated";
const algorithms = ["weights given", ESTIMATED, WITHOUT];

/** The lists of products so far, with the arrival of each click, so that another recommender can learn them. */
class History {
  readonly lists: LoggedList[] = [];
  readonly #due: { readonly list: number; readonly place: number }[][] = [];

  show(items: LoggedItem[], { count, random }: { readonly count: number; readonly random: boolean }): void {
    this.lists.push({ shownAt: this.lists.length * MINUTE, count, items, random });
  }

  /** Lets the item at a place of the latest list convert some lists later. */
  convert(place: number, delay: number): void {
    const list = this.lists.length - 1;
    this.#due[list + delay] ??= [];
    this.#due[list + delay].push({ list, place });
  }

  /** Teaches the list with this number, and the clicks that arrive at its time. */
  teach(recommender: Recommender, number: number, features: (product: number) => Float64Array): void {
    const { items, shownAt: now } = this.lists[number];
    items.forEach(({ index }, place) => {
      recommender.register({ impressionId: `${number} ${place}`, features: features(index), place, now });
    });
    for (const { list, place } of this.#due[number] ?? []) recommender.convert({ impressionId: `${list} ${place}`, reward: 1, at: now });
  }

  /** The lists with the clicks that have arrived. */
  arrived(): LoggedList[] {
    const lists = this.lists.map((list) => ({ ...list, items: list.items.map((item) => ({ ...item })) as Writable<LoggedItem>[] }));
    this.#due.slice(0, lists.length).forEach((clicks, now) => {
      for (const { list, place } of clicks) lists[list].items[place].conversions = [{ at: now * MINUTE, reward: 1 }];
    });
    return lists;
  }
}

type Writable<T> = { -readonly [Key in keyof T]: T[Key] };

/** Plays lists with one policy. */
class Game {
  readonly #setting: Setting;
  readonly #algorithm: string;
  readonly #run: number;
  readonly #rates: ArrayLike<number>;
  readonly #streams: Readonly<Record<"visitor" | "luck" | "delay", Stream>>;
  readonly #law: DelayLaw = geometric(50);
  readonly #history = new History();
  /** Products that are offered. */
  readonly #offered = Array.from({ length: PRODUCTS }, (_, product) => product);
  #arrivals = PRODUCTS;
  #nextEstimate = 0;

  constructor({ setting, algorithm, run }: Task) {
    this.#setting = settings[setting];
    this.#algorithm = algorithm;
    this.#run = run;
    const names = ["signals", "lists", setting, run];
    const { horizon, replacement = horizon } = this.#setting;
    [this.#rates] = drawRates(1, PRODUCTS + Math.ceil(horizon / replacement), stream(...names, "world"));
    this.#streams = { visitor: stream(...names, "visitor"), luck: stream(...names, "luck"), delay: stream(...names, "delay") };
  }

  #features = (product: number): Float64Array => {
    const features = new Float64Array(this.#rates.length);
    features[product] = 1;
    return features;
  };

  #start(examination?: readonly number[]): Promise<Recommender> {
    const policy = delayLinTs({ dimension: this.#rates.length });
    return Recommender.create({ policy, window: { ms: WINDOW }, seed: this.#run, ...(examination && { examination }) });
  }

  /** Estimates the weights when it is due, and lets a new recommender learn all lists with them. */
  async #renewed(recommender: Recommender): Promise<Recommender> {
    const known = this.#history.lists.length;
    if (this.#algorithm !== ESTIMATED || known < this.#nextEstimate) return recommender;
    const { weights, converted } = await estimateExamination({ log: this.#history.arrived(), window: { ms: WINDOW } });
    this.#nextEstimate = converted < FIRST_ESTIMATE ? known + 100 : 2 * known;
    if (converted < FIRST_ESTIMATE) return recommender;
    const renewed = await this.#start(weights);
    for (let number = 0; number < known; number++) this.#history.teach(renewed, number, this.#features);
    return renewed;
  }

  /** Shows products, and draws the clicks on them. */
  #show(items: LoggedItem[], random: boolean): void {
    this.#history.show(items, { count: this.#rates.length, random });
    items.forEach(({ index }, place) => {
      const [luck, delay] = [this.#streams.luck(), this.#law.draw(this.#streams.delay)];
      if (luck < this.#rates[index] * this.#setting.examination[place] && delay * MINUTE <= WINDOW) this.#history.convert(place, delay);
    });
  }

  #edit(): void {
    const first = this.#streams.visitor() < 0.5 ? 0 : PLACES;
    const chances = (place: number) => Array.from({ length: PLACES }, (_, k) => (k === place ? 0.5 : 0));
    const items = Array.from({ length: PLACES }, (_, k) => ({ index: this.#offered[first + k], probability: 0.5, chances: chances(k) }));
    this.#show(items, false);
  }

  #replace(): void {
    this.#offered[this.#streams.visitor.below(PRODUCTS)] = this.#arrivals++;
  }

  /** Shows a random list, or that of the policy. Returns its regret. */
  #decide(recommender: Recommender): number {
    const { visitor } = this.#streams;
    const [anyone, order] = [visitor() < RANDOM_SHARE, shuffled(this.#offered, visitor).slice(0, PLACES)];
    if (anyone) {
      this.#show(
        order.map((index) => ({ index, probability: 1 / PRODUCTS })),
        true,
      );
      return 0;
    }
    const { policy } = recommender;
    const round = this.#history.lists.length + 1;
    const points = new Float64Array(PRODUCTS * policy.dimension);
    for (const [i, product] of this.#offered.entries()) points[i * policy.dimension + product] = 1;
    const request = { points, limit: PLACES, round, draws: DRAWS };
    const choices = policy.choose(request);
    const indices = choices.map(({ index }) => index);
    const chances = policy.placeChances(request, indices);
    const shown = indices.map((index) => this.#offered[index]);
    this.#show(
      shown.map((product, place) => {
        const own = chances.subarray(place * PLACES, (place + 1) * PLACES);
        return { index: product, probability: own[place], chances: own };
      }),
      false,
    );
    const { examination } = this.#setting;
    const best = ranked(this.#offered.map((product) => this.#rates[product])).map((i) => this.#offered[i]);
    return expectedClicks(this.#rates, best.slice(0, PLACES), examination) - expectedClicks(this.#rates, shown, examination);
  }

  /** The regret of each list. Random lists have none: they are the same for all policies. */
  async play(): Promise<Float64Array> {
    const { horizon, edited = 0, replacement = Number.POSITIVE_INFINITY, examination } = this.#setting;
    let recommender = await this.#start(this.#algorithm === "weights given" ? examination : undefined);
    const teach = (): void => this.#history.teach(recommender, this.#history.lists.length - 1, this.#features);
    for (let i = 0; i < edited; i++) {
      this.#edit();
      teach();
    }
    const regret = new Float64Array(horizon);
    for (let i = 0; i < horizon; i++) {
      recommender = await this.#renewed(recommender);
      if ((i + 1) % replacement === 0) this.#replace();
      regret[i] = this.#decide(recommender);
      teach();
    }
    return regret;
  }
}

const lists: Experiment = {
  id: "lists",
  title: "Lists of six among 20 products, with examination 1, 0.7, 0.5, 0.35, 0.25, 0.2: lost clicks",
  runs: 20,
  settings: Object.keys(settings),
  algorithms,
  figures: [{ metric: "cumulative regret", x: "list", y: "cumulative regret" }],
  ratios: [{ metric: "cumulative regret", of: ESTIMATED, to: ["weights given", WITHOUT] }],
  async run(task) {
    const regret = cumulative(await new Game(task).play());
    const at = Array.from({ length: 50 }, (_, i) => ((i + 1) * regret.length) / 50);
    return [{ metric: "cumulative regret", at, values: at.map((list) => regret[list - 1]) }];
  },
};

/** Visitors of five kinds, which the policy knows. It shows each kind what it likes. */
function contextualLog(names: readonly (string | number)[], lists: number, random: "apart" | "together") {
  const draws = stream(...names);
  const rates = drawRates(5, PRODUCTS, draws);
  const policy = new ListPolicy(rates, { draws: 20, noise: 0.7 }, draws);
  const target = new ListPolicy(rates, { draws: 20, noise: 0.3 }, draws);
  return { log: listLog(rates, policy, { lists, randomShare: RANDOM_SHARE, random }, draws), rates, target };
}

const curve = (at: number, metric: string, value: number): Curve => ({ metric, at: [at], values: [value] });

const LOGGED = 100_000;

const examination: Experiment = {
  id: "examination",
  title: "Weights of places, estimated from 100,000 lists of which 5 % are random: errors, and intervals of 95 %",
  runs: 200,
  settings: ["visitors of five kinds"],
  algorithms: ["random lists alone", "all lists"],
  figures: [],
  async run({ algorithm, run }) {
    const { log } = contextualLog(["signals", "examination", run], LOGGED, "apart");
    const used = algorithm === "all lists" ? log : log.filter(({ random }) => random);
    const { places } = await estimateExamination({ log: used, window: "none" });
    const stated = places.flatMap((figure, place) => (place === 0 || isTooFew(figure) ? [] : [{ ...figure, truth: EXAMINATION[place] }]));
    const errors = stated.map(({ value, truth }) => value - truth);
    const held = stated.filter(({ low, high, truth }) => low <= truth && truth <= high);
    return [
      curve(LOGGED, "mean squared error", errors.reduce((sum, each) => sum + each * each, 0) / errors.length),
      curve(LOGGED, "intervals that hold (%)", (100 * held.length) / errors.length),
    ];
  },
};

const listEvaluation: Experiment = {
  id: "list-evaluation",
  title: "Off-policy evaluation of lists: how often nominal 95 % intervals hold the truth",
  runs: 1000,
  settings: ["500 lists", "2,000 lists"],
  algorithms: ["weights known", ESTIMATED],
  figures: [],
  async run({ setting, algorithm, run }) {
    const count = setting === "500 lists" ? 500 : 2000;
    const { log, rates, target } = contextualLog(["signals", "list-evaluation", setting, run], count, "together");
    const chances = rates.map((_, kind) => target.chances(kind));
    const truth = target.value(EXAMINATION);
    const weights = algorithm === ESTIMATED ? (await estimateExamination({ log, window: "none" })).weights : EXAMINATION;
    const policy = (list: LoggedList): Float64Array => chances[(list as KindList).kind];
    const asOf = count * MINUTE;
    const evaluation = await evaluateLists({ log, policy, examination: weights, asOf, window: "none", split: 0, maturity: () => 1 });
    return (["itemPosition", "positionBased"] as const).flatMap((name) => {
      const figure = evaluation[name];
      if (isTooFew(figure)) return [];
      const { value, low, high } = figure;
      return [
        curve(count, `${name} covers (%)`, 100 * Number(low <= truth && truth <= high)),
        curve(count, `${name} over truth`, value / truth),
        curve(count, `${name} width over truth`, (high - low) / truth),
      ];
    });
  },
};

export const listExperiments: readonly Experiment[] = [lists, examination, listEvaluation];
