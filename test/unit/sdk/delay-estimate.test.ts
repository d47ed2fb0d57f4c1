import { SnapshotError } from "afterclick";
import { DelayEstimate } from "afterclick/research";
import { describe, expect, it } from "vitest";
import { stream } from "../../support/scenario.ts";

const WINDOW = 1000;
const MEAN = 100;
const RATE = 0.2;

/** Exponential delays of a fifth of the impressions, one impression per time unit. Events after `end` are unknown. */
function observed(end: number, seed: number): DelayEstimate {
  const random = stream(seed);
  const estimate = new DelayEstimate({ window: WINDOW });
  for (let shownAt = 0; shownAt < end; shownAt++) {
    estimate.show(shownAt);
    const at = shownAt - Math.log(1 - random()) * MEAN;
    if (random() < RATE && at <= end) estimate.convert({ shownAt, at });
  }
  return estimate;
}

const truth = (delay: number): number => 1 - Math.exp(-delay / MEAN);

describe("a delay estimate", () => {
  it("knows the distribution, although of young impressions only short delays can be seen", () => {
    const estimate = observed(3000, 1);
    for (const delay of [10, 30, 70, 150, 300]) expect(Math.abs(estimate.below(delay) - truth(delay))).toBeLessThan(0.06);
    expect(estimate.quantile()).toBeGreaterThan(230);
    expect(estimate.quantile()).toBeLessThan(400);
    expect(estimate.below(WINDOW + 1)).toBe(1);
  });

  it("has a band that holds nine of ten true values, and is as wide as estimates scatter", () => {
    let held = 0;
    const [errors, halves]: [number[], number[]] = [[], []];
    for (let seed = 1; seed <= 20; seed++) {
      const { delays, probability, low, high } = observed(3000, seed).distribution();
      delays.forEach((delay, i) => {
        if (delay < 20 || delay > 250) return;
        errors.push(probability[i] - truth(delay));
        halves.push((high[i] - low[i]) / 2);
        if (low[i] <= truth(delay) && truth(delay) <= high[i]) held++;
      });
    }
    expect(held / errors.length).toBeGreaterThan(0.9);
    const size = (values: number[]): number => Math.sqrt(values.reduce((sum, each) => sum + each * each, 0) / values.length);
    expect(size(halves) / (1.96 * size(errors))).toBeGreaterThan(0.8);
    expect(size(halves) / (1.96 * size(errors))).toBeLessThan(1.25);
  });

  it("corrects the rate for what has not matured, which the plain share does not", () => {
    let [corrected, plain] = [0, 0];
    for (let seed = 1; seed <= 10; seed++) {
      const estimate = observed(600, seed);
      corrected += estimate.rate() / 10;
      plain += estimate.conversions / 600 / 10;
    }
    expect(Math.abs(corrected - RATE)).toBeLessThan(0.02);
    expect(plain).toBeLessThan(RATE - 0.025);
  });

  it("says how many conversions are still to come", () => {
    let ratio = 0;
    for (let seed = 1; seed <= 10; seed++) ratio += observed(1500, seed).toCome(1500) / (RATE * MEAN) / 10;
    // With one impression per time unit, the expected number equals the conversions of one mean delay.
    expect(Math.abs(ratio - 1)).toBeLessThan(0.25);
    const estimate = observed(1500, 1);
    expect(estimate.toCome(1500)).toBeGreaterThan(estimate.toCome(1600));
    expect(estimate.toCome(1500 + WINDOW)).toBeCloseTo(0, 9);
  });

  it("takes into the rate what was shown after the latest conversion, when it has had its time", () => {
    const estimate = new DelayEstimate({ window: WINDOW });
    for (let time = 0; time < 10; time++) estimate.show(time);
    estimate.convert({ shownAt: 0, at: 100 });
    estimate.show(500, 90);
    estimate.toCome(500 + WINDOW);
    expect(estimate.rate()).toBeCloseTo(1 / 100, 9);
  });

  it("takes no conversion after the window for one, and one at its very end for one", () => {
    const estimate = new DelayEstimate({ window: WINDOW });
    estimate.show(0, 9);
    estimate.convert({ shownAt: 0, at: WINDOW + 1 });
    expect(estimate.conversions).toBe(0);
    expect(estimate.rate()).toBeNaN();
    estimate.convert({ shownAt: 0, at: WINDOW });
    expect(estimate.conversions).toBe(1);
  });

  it("says the shortest window that catches a share, the window itself at most", () => {
    const estimate = new DelayEstimate({ window: 16384 });
    estimate.show(0, 100);
    for (let delay = 0; delay < 10; delay++) estimate.convert({ shownAt: 0, at: delay });
    estimate.convert({ shownAt: 0, at: 16384 });
    estimate.show(20_000);
    estimate.convert({ shownAt: 20_000, at: 20_000 });
    const { delays, probability } = estimate.distribution();
    for (const share of [0.1, 0.3, 0.5, 0.9]) {
      const bin = probability.findIndex((each) => each > share - 1e-6);
      expect(estimate.quantile(share)).toBe(delays[bin]);
    }
    expect(estimate.quantile(probability[4])).toBe(delays[4]);
    expect(estimate.quantile(1)).toBe(16384);
    expect(estimate.quantile()).toBe(estimate.quantile(0.95));
    expect(() => estimate.quantile(1.1)).toThrow(/share/);
    expect(() => estimate.below(-1)).toThrow(/delay/);
  });

  it.each([
    [95, 100, undefined],
    [57, 60, 0.95],
    [45, 50, 0.9],
    [30, 40, 0.75],
  ])("says the delay of %i conversions of %i, and not that of the next", (soon, all, share) => {
    const HOUR = 3_600_000;
    const estimate = new DelayEstimate({ window: 168 * HOUR });
    estimate.show(0, 1000);
    estimate.convert({ shownAt: 0, at: HOUR, count: soon });
    estimate.convert({ shownAt: 0, at: 144 * HOUR, count: all - soon });
    estimate.advance(400 * HOUR);
    expect(estimate.quantile(share) / HOUR).toBeCloseTo(1.066, 2);
    expect(estimate.quantile((share ?? 0.95) + 0.001) / HOUR).toBeGreaterThan(144);
  });

  it("says the median of six delays that differ", () => {
    const HOUR = 3_600_000;
    const estimate = new DelayEstimate({ window: 168 * HOUR });
    estimate.show(0, 100);
    for (const hours of [1, 2, 4, 8, 24, 72]) estimate.convert({ shownAt: 0, at: hours * HOUR });
    estimate.advance(400 * HOUR);
    expect(estimate.quantile(0.5) / HOUR).toBeCloseTo(4.266, 2);
  });

  it("counts many impressions of one time as one after the other", () => {
    // The length of a cohort is then a power of two, and sums are exact.
    const [one, other] = [new DelayEstimate({ window: 1024 }), new DelayEstimate({ window: 1024 })];
    for (const time of [3, 700, 2100]) {
      one.show(time, 8);
      for (let i = 0; i < 8; i++) other.show(time);
    }
    expect(one.toJSON()).toEqual(other.toJSON());
  });

  it("counts many conversions of one cell of its grid as one after the other", () => {
    const grid = DelayEstimate.grid(1024);
    const [one, other] = [new DelayEstimate({ window: 1024 }), new DelayEstimate({ window: 1024 })];
    const random = stream(7);
    const cells = new Map<string, { shownAt: number; at: number; latest: number; count: number }>();
    for (let time = 0; time < 3000; time++) {
      const [shownAt, delay] = [time, Math.floor(1024 * random() ** 2)];
      for (const estimate of [one, other]) estimate.show(shownAt);
      if (random() < 0.5) continue;
      one.convert({ shownAt, at: shownAt + delay, arrivedAt: null });
      const key = `${Math.floor(shownAt / grid.cohort)} ${grid.bin(delay)}`;
      const cell = cells.get(key);
      const latest = Math.max(cell?.latest ?? 0, shownAt + delay);
      cells.set(key, { shownAt, at: shownAt + delay, latest, count: (cell?.count ?? 0) + 1 });
    }
    for (const cell of cells.values()) other.convert({ ...cell, arrivedAt: null });
    expect(cells.size).toBeLessThan(one.conversions);
    for (const estimate of [one, other]) estimate.toCome(4100);
    expect(other.distribution()).toEqual(one.distribution());
    expect([other.conversions, other.rate(), other.toCome(4200)]).toEqual([one.conversions, one.rate(), one.toCome(4200)]);
    expect(() => one.convert({ shownAt: 0, at: 1, count: 0 })).toThrow(/count/);
    expect(() => one.convert({ shownAt: 0, at: 2, latest: 1 })).toThrow(/latest/);
    expect(() => DelayEstimate.grid(0)).toThrow(/window/);
  });

  it("has Jeffreys' interval for a rate if all windows have passed, and a wider one while they have not", () => {
    const estimate = new DelayEstimate({ window: WINDOW });
    estimate.show(0, 100);
    for (let i = 0; i < 10; i++) estimate.convert({ shownAt: 0, at: 10 * i });
    estimate.advance(5 * WINDOW);
    const { rate, low, high } = estimate.rateInterval();
    expect(rate).toBe(estimate.rate());
    // scipy.stats.beta.ppf([0.025, 0.975], 10.5, 90.5)
    expect([rate, low, high].map((each) => Number(each.toFixed(3)))).toEqual([0.1, 0.053, 0.17]);
    const relative = (end: number): number => {
      const young = observed(end, 5);
      const own = young.rateInterval();
      return ((own.high - own.low) / own.rate) * Math.sqrt(young.conversions);
    };
    expect(relative(120)).toBeGreaterThan(1.05 * relative(6000));
  });

  it("holds the true rate in nine of ten young shops", () => {
    let held = 0;
    for (let seed = 1; seed <= 60; seed++) {
      const estimate = observed(700, seed);
      const { low, high } = estimate.rateInterval();
      const due = RATE * truth(estimate.followed);
      if (low <= due && due <= high) held++;
    }
    expect(held).toBeGreaterThan(54);
  });

  it("has followed all of the window once all windows have passed, however the delays of products differ", () => {
    for (let seed = 0; seed < 10; seed++) {
      const random = stream(seed);
      const estimate = new DelayEstimate({ window: WINDOW });
      for (let shownAt = 0; shownAt < 3000; shownAt++) {
        const [product, mean] = shownAt % 3 === 0 ? ["slow", 3 * MEAN] : ["quick", MEAN];
        estimate.show(shownAt, 1, product);
        const delay = -Math.log(1 - random()) * mean;
        if (random() < RATE && delay <= WINDOW) estimate.convert({ shownAt, at: shownAt + delay, product, arrivedAt: 3000 + WINDOW });
      }
      estimate.advance(3000 + 3 * WINDOW);
      expect([estimate.productsDiffer, estimate.followed]).toEqual([true, WINDOW]);
    }
  });

  it("says that an impression converts less and less the longer it has not", () => {
    const estimate = observed(3000, 2);
    const chances = [0, 50, 100, 300, 900].map((age) => estimate.stillConverts(age));
    expect(chances[0]).toBeCloseTo(estimate.rate(), 1);
    for (let i = 1; i < chances.length; i++) expect(chances[i]).toBeLessThan(chances[i - 1]);
    expect(Math.abs(chances[2] - (RATE * (1 - truth(100))) / (1 - RATE * truth(100)))).toBeLessThan(0.03);
    expect(estimate.stillConverts(WINDOW + 1)).toBe(0);
  });

  it("knows nothing before the first conversion", () => {
    const estimate = new DelayEstimate({ window: WINDOW });
    expect(estimate.below(1)).toBe(1);
    estimate.show(0);
    expect(estimate.rate()).toBeNaN();
    expect(estimate.rateInterval()).toEqual({ rate: Number.NaN, low: 0, high: 1 });
    expect(estimate.closed).toBe(0);
    expect(estimate.toCome(0)).toBeNaN();
    expect(estimate.stillConverts(0)).toBeNaN();
    expect(estimate.silence(500)).toEqual({ expected: 0, chance: 1, alarm: false });
  });

  it("expects no more conversions than there are impressions without one, however soon after the first", () => {
    const SECOND = 1000;
    for (let now = 28; now <= 120; now += 4) {
      const estimate = new DelayEstimate({ window: 7 * 86_400 * SECOND });
      estimate.show(0, 1, "a");
      estimate.show(0, 1, "b");
      estimate.show(15 * SECOND, 1, "c");
      estimate.convert({ shownAt: 0, at: 10 * SECOND, count: 1, product: "a" });
      estimate.convert({ shownAt: 15 * SECOND, at: 27 * SECOND, count: 1, product: "c" });
      const { expected, low, high } = estimate.toComeInterval(now * SECOND);
      expect(expected).toBeGreaterThan(0);
      expect(expected).toBeLessThanOrEqual(1);
      expect([low <= expected, high >= expected]).toEqual([true, true]);
    }
  });

  it("says nothing of a silence before thirty conversions, however long it lasts", () => {
    const estimate = new DelayEstimate({ window: WINDOW });
    const silences = Array.from({ length: 31 }, (_, i) => {
      estimate.show(i, 2);
      estimate.convert({ shownAt: i, at: i });
      // Reads a copy, because reading moves the clock forward.
      const later = DelayEstimate.from(estimate.toJSON());
      later.show(500, 500);
      return later.silence(1.5 * WINDOW);
    });
    for (const silence of silences.slice(0, 29)) expect(silence).toEqual({ expected: 0, chance: 1, alarm: false });
    for (const silence of silences.slice(29)) {
      expect(silence.alarm).toBe(true);
      expect(silence.expected).toBeGreaterThan(200);
    }
  });

  it("alarms at the chance that was asked for", () => {
    for (const falseAlarm of [0.5, 0.01, undefined]) {
      const estimate = new DelayEstimate({ window: WINDOW, ...(falseAlarm && { falseAlarm }) });
      for (let i = 0; i < 100; i++) {
        estimate.show(i, 2);
        estimate.convert({ shownAt: i, at: i });
      }
      const silences = Array.from({ length: 60 }, (_, i) => {
        estimate.show(100 + i);
        return estimate.silence(100 + i);
      });
      const limit = falseAlarm ?? 1e-5;
      expect(silences.map(({ alarm }) => alarm)).toEqual(silences.map(({ chance }) => chance < limit));
      expect(new Set(silences.map(({ alarm }) => alarm)).size).toBe(2);
    }
  });

  it("alarms a dozen expected conversions after they were cut off, traffic going on, and not before", () => {
    const estimate = observed(3000, 3);
    let now = 3000;
    for (; !estimate.silence(now).alarm; now++) {
      estimate.show(now);
      expect(now).toBeLessThan(3000 + 14 / RATE);
    }
    expect(now).toBeGreaterThan(3000 + 8 / RATE);
    expect(estimate.silence(now).expected).toBeGreaterThan(11);
  });

  it("counts a silence from when the last conversion got through, also if that had happened long before", () => {
    const estimate = observed(3000, 3);
    for (let time = 3000; time < 3200; time++) estimate.show(time);
    expect(estimate.silence(3200)).toMatchObject({ alarm: true });
    expect(estimate.silence(3200, 3200)).toEqual({ expected: 0, chance: 1, alarm: false });
    const { expected, alarm } = estimate.silence(3200, 3180);
    expect(expected).toBeGreaterThan(2);
    expect(expected).toBeLessThan(6);
    expect(alarm).toBe(false);
  });

  it("says nothing of a silence since before the first impression, as by a clock that is behind", () => {
    const estimate = new DelayEstimate({ window: 300 });
    for (let shownAt = 1000; shownAt < 1050; shownAt++) {
      estimate.show(shownAt);
      estimate.convert({ shownAt, at: shownAt });
    }
    for (const now of [950, 1050]) expect(estimate.silence(now, 900)).toEqual({ expected: 0, chance: 1, alarm: false });
  });

  it("does not alarm when nothing is shown any more: nobody can convert then", () => {
    const estimate = observed(3000, 4);
    const random = stream(5);
    // Shown impressions still convert.
    for (let shownAt = 2900; shownAt < 3000; shownAt += 7) estimate.convert({ shownAt, at: 3000 + Math.floor(random() * 300) });
    expect(estimate.silence(1_000_000)).toMatchObject({ alarm: false });
  });

  it("goes on from JSON as if never saved, to the bit", () => {
    const [unbroken, other] = [observed(1500, 6), observed(1500, 6)];
    const restored = DelayEstimate.from(JSON.parse(JSON.stringify(other)));
    for (const estimate of [unbroken, restored]) {
      for (let time = 1500; time < 1900; time++) estimate.show(time);
      estimate.convert({ shownAt: 1400, at: 1890 });
    }
    expect(restored.distribution()).toEqual(unbroken.distribution());
    expect(restored.toJSON()).toEqual(unbroken.toJSON());
  });

  it("does not depend on the order of conversions", () => {
    const events = Array.from({ length: 200 }, (_, i) => ({ shownAt: i * 10, at: i * 10 + ((i * 37) % 300) }));
    const [one, other] = [events, [...events].reverse()].map((order) => {
      const estimate = new DelayEstimate({ window: WINDOW });
      for (let time = 0; time < 2300; time += 10) estimate.show(time);
      for (const event of order) estimate.convert(event);
      return estimate;
    });
    expect(other.toJSON()).toEqual(one.toJSON());
  });

  it("does not depend on the order in which impressions of two windows are counted", () => {
    const times = Array.from({ length: 250 }, (_, i) => 8 * i);
    const shuffled = times.map((_, i) => times[(i * 77) % 250]);
    const orders = [
      [...times, 2000],
      [2000, ...times],
      [2000, ...times.toReversed()],
      [...shuffled, 2000],
    ];
    const [one, ...others] = orders.map((order) => {
      // The length of a cohort is then a power of two, and sums are exact.
      const estimate = new DelayEstimate({ window: 1024 });
      for (const time of order) estimate.show(time);
      for (const time of order) if (time % 5 === 0 && time < 1800) estimate.convert({ shownAt: time, at: time + (time % 96) });
      estimate.toCome(2000);
      return estimate;
    });
    for (const other of others) {
      expect(other.distribution()).toEqual(one.distribution());
      expect(other.rate()).toBe(one.rate());
      expect(other.toJSON().sections.length).toBe(one.toJSON().sections.length);
    }
  });

  it("keeps its size, whatever the traffic", () => {
    const estimate = new DelayEstimate({ window: WINDOW });
    for (let i = 0; i < 50_000; i++) {
      estimate.show(i);
      if (i % 5 === 0) estimate.convert({ shownAt: i, at: i + 1 });
    }
    expect(JSON.stringify(estimate).length).toBeLessThan(60_000);
  });

  it("refuses what it cannot count, by name, and is as before", () => {
    const estimate = observed(200, 7);
    const before = estimate.toJSON();
    expect(() => estimate.show(Number.NaN)).toThrow(/time/);
    for (const count of [0, 1.5, -1, "2" as never]) expect(() => estimate.show(300, count)).toThrow(/count/);
    expect(() => estimate.toCome(Number.NaN)).toThrow(/now/);
    expect(() => estimate.advance(Number.NaN)).toThrow(/time/);
    expect(() => estimate.distribution(0)).toThrow(/within/);
    expect(() => estimate.silence(300, Number.NaN)).toThrow(/since/);
    expect(() => estimate.convert({ shownAt: 100, at: 99 })).toThrow(/at:/);
    expect(() => estimate.convert({ shownAt: Number.NaN, at: 99 })).toThrow(/shownAt/);
    expect(() => estimate.convert({ shownAt: 100, at: Number.POSITIVE_INFINITY })).toThrow(/at/);
    expect(() => estimate.silence(Number.NaN)).toThrow(/now/);
    expect(() => new DelayEstimate({ window: 0 })).toThrow(/window/);
    expect(() => estimate.convert({ shownAt: 100, at: 110, arrivedAt: 109 })).toThrow(
      /arrivedAt: expected a time not before the conversion's, 110/,
    );
    expect(() => estimate.arrive(Number.NaN)).toThrow(/time/);
    expect(() => new DelayEstimate({ window: 1, day: 0 })).toThrow(/day/);
    for (const falseAlarm of [0, 0.6]) expect(() => new DelayEstimate({ window: 1, falseAlarm })).toThrow(/falseAlarm/);
    expect(() => new DelayEstimate(null as never)).toThrow(/options/);
    expect(() => new DelayEstimate({ window: 1, windows: 2 } as never)).toThrow(/windows/);
    expect(() => DelayEstimate.from({ ...before, sections: before.sections.slice(1) })).toThrow(SnapshotError);
    const { version: _, ...first } = before;
    expect(() => DelayEstimate.from(first as never)).toThrow(/version: expected 4, the form that toJSON returns; count the log again/);
    for (const [section, place, value] of [
      [0, 0, Number.NaN],
      [1, 3, -1],
      [2, 2, 0],
      [2, 3, 0],
    ]) {
      const sections = before.sections.map((each) => [...each]);
      sections[section][place] = value;
      expect(() => DelayEstimate.from({ ...before, sections })).toThrow(SnapshotError);
    }
    for (const section of before.sections.keys()) {
      const sections = before.sections.map((each, i) => (i === section ? each.slice(1) : each));
      expect(() => DelayEstimate.from({ ...before, sections })).toThrow(SnapshotError);
    }
    expect(estimate.toJSON()).toEqual(before);
  });
});

describe("a delay estimate that knows the length of a day", () => {
  const DAY = 86_400_000;
  const HOUR = DAY / 24;
  const MONDAY = Date.UTC(2024, 0, 1);

  interface Order {
    readonly shownAt: number;
    readonly at: number;
    readonly arrivedAt: number;
  }

  /** Forty impressions a day, of which every second converts at once. A batch delivers them at 6 h. */
  function ordersOf(days: number): Order[] {
    return Array.from({ length: 20 * days }, (_, i) => {
      const at = MONDAY + (i * DAY) / 20;
      return { shownAt: at, at, arrivedAt: MONDAY + DAY * Math.ceil((at - MONDAY) / DAY - 0.25) + 6 * HOUR };
    });
  }

  function filled(orders: readonly Order[], day = DAY): DelayEstimate {
    const estimate = new DelayEstimate({ window: 7 * day, day });
    for (const { shownAt } of orders) estimate.show(shownAt, 2);
    for (const order of orders) estimate.convert(order);
    return estimate;
  }

  /** Feeds orders as they come, and says at which hours of the last day the alarm rang. */
  function alarms(days: number, until: number, give: (order: Order) => Parameters<DelayEstimate["convert"]>[0]): number[] {
    const orders = ordersOf(days + 10);
    const estimate = new DelayEstimate({ window: 7 * DAY });
    const end = MONDAY + days * DAY;
    const rang: number[] = [];
    for (let now = MONDAY; now < end + until * HOUR; now += HOUR) {
      for (const { shownAt } of orders) if (shownAt > now - HOUR && shownAt <= now) estimate.show(shownAt, 2);
      for (const order of orders) if (order.arrivedAt > now - HOUR && order.arrivedAt <= Math.min(now, end)) estimate.convert(give(order));
      if (estimate.silence(now).alarm) rang.push((now - end) / HOUR);
    }
    return rang;
  }

  it("does not alarm between daily batches, and does once a batch is eight hours late", () => {
    // The last batch came eighteen hours before the end.
    expect(alarms(10, 30, (order) => order)[0]).toBe(14);
  });

  it("takes the time of a call for the arrival if none is stated", () => {
    expect(alarms(10, 30, ({ shownAt, at }) => ({ shownAt, at }))[0]).toBe(14);
  });

  it("without the rhythm would alarm between batches", () => {
    const estimate = filled(ordersOf(10));
    const since = MONDAY + 9 * DAY + 6 * HOUR;
    for (let hour = 0; hour < 23; hour++) estimate.show(since + hour * HOUR, 2);
    const { chance, alarm } = estimate.silence(since + 23 * HOUR, since);
    expect(chance).toBeLessThan(1e-5);
    expect(alarm).toBe(false);
  });

  it("counts arrivals apart from conversions, if told so", () => {
    const orders = ordersOf(12);
    const [joint, apart] = [filled(orders), filled(orders.map((order) => ({ ...order, arrivedAt: null as never })))];
    for (const { arrivedAt } of orders) apart.arrive(arrivedAt);
    expect(apart.toJSON()).toEqual(joint.toJSON());
  });

  it("has no rhythm if the window is shorter than a day", () => {
    expect(new DelayEstimate({ window: DAY - 1 }).toJSON().sections.length).toBe(
      new DelayEstimate({ window: DAY }).toJSON().sections.length - 1,
    );
  });

  it("does not depend on the order of arrivals, nor on the unit of times", () => {
    const orders = ordersOf(40);
    const random = stream(12);
    const one = filled(orders);
    const rhythm = one.toJSON().sections[1];
    for (let trial = 0; trial < 5; trial++) {
      const other = new DelayEstimate({ window: 7 * DAY });
      for (const { arrivedAt } of orders.toSorted(() => random() - 0.5)) other.arrive(arrivedAt);
      expect(other.toJSON().sections[1]).toEqual(rhythm);
    }
    const seconds = filled(
      orders.map(({ shownAt, at, arrivedAt }) => ({ shownAt: shownAt / 1000, at: at / 1000, arrivedAt: arrivedAt / 1000 })),
      DAY / 1000,
    );
    expect(seconds.toJSON().sections[1]).toEqual(rhythm);
  });

  it("goes on from JSON as if never saved, and keeps its size", () => {
    const [early, late] = [filled(ordersOf(10)), filled(ordersOf(60))];
    for (const estimate of [early, late]) {
      const restored = DelayEstimate.from(JSON.parse(JSON.stringify(estimate)));
      expect(restored.toJSON()).toEqual(estimate.toJSON());
      for (let hour = 0; hour < 50; hour++) {
        const now = MONDAY + 60 * DAY + hour * HOUR;
        for (const each of [estimate, restored]) each.show(now, 2);
        expect(restored.silence(now)).toEqual(estimate.silence(now));
      }
    }
    expect(JSON.stringify(late).length).toBeLessThan(60_000);
    expect(late.toJSON().sections[1].length).toBe(86);
  });

  it("refuses a rhythm that it cannot have saved", () => {
    const state = filled(ordersOf(10)).toJSON();
    for (const change of [
      (rhythm: number[]) => rhythm.pop(),
      (rhythm: number[]) => void rhythm.splice(1),
      (rhythm: number[]) => void rhythm.fill(0, 1),
      (rhythm: number[]) => void rhythm.fill(2 ** 32, 1, 2),
      (rhythm: number[]) => void rhythm.fill(0.5, 1, 2),
      (rhythm: number[]) => void rhythm.fill(rhythm[0] - 1, 0, 1),
      (rhythm: number[]) => void rhythm.fill(0.5, 0, 1),
      (rhythm: number[]) => void rhythm.fill(2 ** 32 - 1, 85, 86),
    ]) {
      const sections = state.sections.map((each) => [...each]);
      change(sections[1]);
      expect(() => DelayEstimate.from({ ...state, sections }), String(change)).toThrow(SnapshotError);
    }
  });
});
