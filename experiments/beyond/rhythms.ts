// The alarm for a broken webhook, in shops whose conversions have a rhythm.

import { DelayEstimate } from "afterclick/research";
import { type Stream, stream } from "../../src/simulation/stream.ts";
import type { Curve, Experiment } from "../runs/experiment.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const WINDOW = 7 * DAY;
/** Share of impressions that convert while buyers are awake. */
const RATE = 0.25;
const DAYS = 28;
/** No alarm may ring before this many conversions. */
const FEW = 30;

/** When buyers buy, and when the shop delivers their conversions. */
interface Shop {
  /** Nobody buys from 23 to 7 h. */
  readonly nights?: boolean;
  /** Nobody buys on Saturdays and Sundays. With batches: none is sent then. */
  readonly weekends?: boolean;
  /** Conversions are delivered once a day, at a random hour, half an hour sooner or later. */
  readonly batches?: boolean;
  /** Traffic grows by 3 % a day. */
  readonly growth?: boolean;
}

const shops: Record<string, Shop> = {
  "at once": {},
  batches: { batches: true },
  nights: { nights: true },
  weekends: { weekends: true },
  growth: { growth: true },
  "nights, batches": { nights: true, batches: true },
  "weekends, batches": { weekends: true, batches: true },
  "nights, weekends": { nights: true, weekends: true },
  "all four": { nights: true, weekends: true, batches: true, growth: true },
};
const rates = [15, 150];
/** Mean delays, of which runs take turns. */
const DELAYS = [0, 4 * HOUR, 2 * DAY];
/** 2024-01-01, a Monday. Half of the runs start on a Monday, the others on any day. */
const MONDAY = Date.UTC(2024, 0, 1);

interface Event {
  readonly shownAt: number;
  readonly at: number;
  readonly arrivedAt: number;
}

/** One shop of one run, with the traffic of six weeks. */
class Life {
  readonly start: number;
  readonly shown: number[] = [];
  /** Conversions by arrival. */
  readonly events: Event[] = [];
  readonly batches: number[] = [];
  readonly #shop: Shop;
  readonly #perDay: number;

  constructor(shop: Shop, perDay: number, delay: number, random: Stream) {
    this.#shop = shop;
    this.#perDay = perDay;
    this.start = MONDAY + (random() < 0.5 ? 0 : random.below(7)) * DAY;
    const hour = random() * 24;
    for (let day = -1; day < 60; day++) {
      const at = this.start + (24 * day + hour) * HOUR;
      if (!(shop.weekends && isWeekend(at))) this.batches.push(at + (random() - 0.5) * HOUR);
    }
    for (let shownAt = this.start; shownAt < this.start + (DAYS + 14) * DAY; ) {
      shownAt -= (Math.log(1 - random()) * DAY * RATE) / (perDay * this.#growth(shownAt));
      this.shown.push(shownAt);
      if (random() < this.#rate) this.#convert(shownAt, shownAt - Math.log(1 - random()) * delay);
    }
    this.events.sort((a, b) => a.arrivedAt - b.arrivedAt);
  }

  #convert(shownAt: number, at: number): void {
    if (at - shownAt > WINDOW || !this.#buys(at)) return;
    const arrivedAt = this.#shop.batches ? this.batches.find((batch) => batch >= at) : at;
    this.events.push({ shownAt, at, arrivedAt: arrivedAt as number });
  }

  /** Buyers who sleep a third of the day buy 1.5 times as much while awake. */
  get #rate(): number {
    return this.#shop.nights ? 1.5 * RATE : RATE;
  }

  #growth(time: number): number {
    return this.#shop.growth ? 1.03 ** ((time - this.start) / DAY) : 1;
  }

  #buys(time: number): boolean {
    const hour = (time % DAY) / HOUR;
    return !(this.#shop.nights && (hour < 7 || hour >= 23)) && !(this.#shop.weekends && !this.#shop.batches && isWeekend(time));
  }

  /** Hours of silence until a test that knows the rhythm rings: e^-11.5 is 1e-5. A batch is overdue after its half hour. */
  oracle(last: number, breakAt: number): number {
    if (this.#shop.batches) {
      const missed = this.batches.find((at) => at > breakAt && this.events.filter(({ arrivedAt }) => arrivedAt === at).length >= 11.5);
      return ((missed as number) + HOUR / 2 - last) / HOUR;
    }
    let time = last;
    for (let expected = 0; expected < 11.5; time += HOUR / 12) {
      if (this.#buys(time)) expected += (this.#perDay * this.#growth(time) * (this.#rate / RATE)) / (24 * 12);
    }
    return (time - last) / HOUR;
  }
}

function isWeekend(time: number): boolean {
  return [0, 6].includes(new Date(time).getUTCDay());
}

/** Feeds an estimate hour by hour. Conversions after the break do not get through. */
class Feed {
  readonly estimate = new DelayEstimate({ window: WINDOW });
  readonly #life: Life;
  #shown = 0;
  arrived = 0;
  /** The latest arrival. */
  last: number;

  constructor(life: Life) {
    this.#life = life;
    this.last = life.start;
  }

  advance(now: number, breakAt: number): void {
    const { shown, events } = this.#life;
    while (shown[this.#shown] <= now) this.estimate.show(shown[this.#shown++]);
    for (; events[this.arrived]?.arrivedAt <= Math.min(now, breakAt); this.arrived++) {
      this.last = events[this.arrived].arrivedAt;
      this.estimate.convert(events[this.arrived]);
    }
  }
}

type Test = (estimate: DelayEstimate, now: number, since: number) => boolean;
const tests: Record<string, Test> = {
  silence: (estimate, now, since) => estimate.silence(now, since).alarm,
  // The likelihood test without the rhythm.
  "chance alone": (estimate, now, since) => estimate.silence(now, since).chance < 1e-5,
};

/** Whether a false alarm rings within four weeks. */
function ringsFalsely(life: Life, first: number, test: Test): boolean {
  const feed = new Feed(life);
  for (let now = first; now < life.start + DAYS * DAY; now += HOUR) {
    feed.advance(now, now);
    if (feed.arrived >= FEW && test(feed.estimate, now, feed.last)) return true;
  }
  return false;
}

/** Whether a weekend lies in a silence before the first whole weekend has passed. */
function touchesFirstWeekend(start: number, from: number, to: number): boolean {
  let monday = start;
  while (new Date(monday).getUTCDay() !== 1 || !isWeekend(monday - DAY) || monday - start < 2 * DAY) monday += DAY;
  return from < monday && to > monday - 2 * DAY - 6 * HOUR;
}

function play(shop: Shop, perDay: number, run: number, test: Test, random: Stream): readonly [string, number][] {
  const life = new Life(shop, perDay, DELAYS[run % DELAYS.length], random);
  const first = life.start + random() * HOUR;
  const breakAt = Math.max(life.start + 3 * DAY, life.events[FEW].arrivedAt + 1) + 21 * random() * DAY;
  const feed = new Feed(life);
  feed.advance(breakAt, breakAt);
  let now = first + Math.ceil((breakAt - first) / HOUR) * HOUR;
  for (; now < breakAt + 14 * DAY; now += HOUR) {
    feed.advance(now, breakAt);
    if (test(feed.estimate, now, feed.last)) break;
  }
  const hours = (now - feed.last) / HOUR;
  const oracle = life.oracle(feed.last, breakAt);
  const limit = Math.max(perDay < 100 ? 48 : 24, 1.5 * oracle);
  const excused = touchesFirstWeekend(life.start, feed.last, feed.last + limit * HOUR);
  return [
    ["runs with a false alarm (%)", 100 * Number(ringsFalsely(life, first, test))],
    ["breaks found too late (%)", 100 * Number(hours > limit)],
    ["breaks found too late, not in the first weekend (%)", 100 * Number(hours > limit && !excused)],
    ["hours of silence until the alarm", hours],
    ["hours that a test with the rhythm needs", oracle],
  ];
}

const settings = rates.flatMap((perDay) => Object.keys(shops).map((name) => ({ name, perDay, setting: `${name}, ${perDay} a day` })));

export const rhythmSettings = settings.map(({ setting }) => setting);

export const rhythm: Experiment = {
  id: "rhythm",
  title: "Alarm for a broken webhook, where conversions have a rhythm: four weeks, a break at a random hour from day 3 on",
  runs: 300,
  settings: rhythmSettings,
  algorithms: Object.keys(tests),
  figures: [],
  async run({ setting, algorithm, run }): Promise<readonly Curve[]> {
    const { name, perDay } = settings.find((each) => each.setting === setting) as (typeof settings)[number];
    const figures = play(shops[name], perDay, run, tests[algorithm], stream("beyond", "rhythm", setting, run));
    return figures.map(([metric, value]) => ({ metric, at: [DAYS], values: [value] }));
  },
};
