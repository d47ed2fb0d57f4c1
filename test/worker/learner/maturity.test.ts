import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { DelayEstimate } from "afterclick/research";
import { describe, expect, it } from "vitest";
import { productGroup } from "../../../worker/domain/figures/product-group.ts";
import type { Delay } from "../../../worker/protocol/metrics-answer.ts";
import { stream } from "../../support/scenario.ts";
import { call, convert, createModel, HOUR_MS, learnerOf, recommend, show, statusesOf } from "../support/client.ts";
import { bucketOf, closing, DAY_MS, forgetting, MINUTE_MS, QUARTER_MS, ring, tick, useClock } from "../support/clock.ts";
import { delayFigures, orTooFew } from "../support/delay-figures.ts";
import { counts, expectDelays, type Line, logOf, outcomeOf } from "../support/fold.ts";
import { lived } from "../support/lived.ts";

useClock();

async function delayOf(model: string): Promise<Delay> {
  const { body } = await call("GET", `/v1/models/${model}/metrics`);
  return body.delay;
}

/** Time of the first conversion of each impression that has converted and is not fully retracted. */
function conversionsOf([{ config }, ...lines]: readonly Line[]): { shownAt: number; at: number; product: string }[] {
  const byImpression = Map.groupBy(lines.filter(counts), ({ impression }) => impression);
  return shownIn(lines).flatMap(({ id, shownAt, action }) => {
    const { delay } = outcomeOf(byImpression.get(id) ?? [], config.goals, shownAt) ?? {};
    return delay === undefined ? [] : { shownAt, at: shownAt + delay, product: groupOf(action) };
  });
}

const groupOf = (action: string): string => String(productGroup(action));

const shownIn = (lines: readonly Line[]) =>
  lines.filter(({ type, state }) => type === "impression" && state === "live").toSorted((a, b) => a.shownAt - b.shownAt);

/** An estimate fed from a log with the SDK, and the answer that the worker should give: when it rings, as of the last arrival. */
function expectedOf(lines: readonly Line[], since: number): object {
  const conversions = conversionsOf(lines);
  const fed = (shown: readonly Line[]): DelayEstimate => {
    const estimate = new DelayEstimate({ window: HOUR_MS });
    for (const { shownAt, action } of shown) estimate.show(shownAt, 1, groupOf(action));
    for (const conversion of conversions) estimate.convert(conversion);
    return estimate;
  };
  const near = (value: number) => expect.closeTo(value, 9);
  const { expected, chance, alarm } = fed(shownIn(lines)).silence(Date.now(), since);
  const completeUntil = alarm ? since : Date.now();
  const shown = shownIn(lines).filter(({ shownAt }) => shownAt <= completeUntil);
  return {
    completeUntil,
    impressions: shown.length,
    ...delayFigures(fed(shown), completeUntil, shownIn(lines).length - shown.length),
    rateSoFar: near(conversions.length / shown.length),
    silence: { since, expected: near(expected), chance: near(chance), alarm },
  };
}

describe("how late conversions come", () => {
  it("is not told before the first", async () => {
    const model = await createModel();
    await show(model, {});
    expect(await delayOf(model)).toBeNull();
  });

  it.each([1, 2])("is told as an estimate tells it that is fed with the log, whatever happened (%i)", async (seed) => {
    const model = await lived({}, seed);
    const answer = await delayOf(model);
    const lines = await logOf(model);
    expect(answer.conversions).toBeGreaterThan(15);
    expect(lines.some(({ status }) => status === "void")).toBe(true);
    expect(answer).toMatchObject(expectedOf(lines, answer.silence.since));
    expect(answer.silence.since).toBe(Date.now());

    await evictDurableObject(learnerOf(model));
    expect(await delayOf(model)).toEqual(answer);
    await expectDelays(model, lines);
  });

  it("is drawn from the shortest delay to the window, its band around it", async () => {
    const model = await lived({}, 3);
    const { distribution } = await delayOf(model);
    const estimate = new DelayEstimate({ window: HOUR_MS });
    const lines = await logOf(model);
    for (const { shownAt, action } of shownIn(lines)) estimate.show(shownAt, 1, groupOf(action));
    for (const conversion of conversionsOf(lines)) estimate.convert(conversion);
    estimate.advance(Date.now());
    expect(distribution.length).toBeGreaterThan(10);
    expect(distribution.length).toBeLessThanOrEqual(40);
    expect(distribution.at(-1)?.delayMs).toBe(estimate.followed);
    distribution.forEach(({ delayMs, probability, low, high, stillConverts }, i) => {
      // The laws are solved by iteration, from sums in another order.
      expect(probability).toBeCloseTo(estimate.below(delayMs), 6);
      expect(stillConverts).toEqual(orTooFew(estimate, 5, estimate.stillConverts(delayMs), 6));
      expect(low).toBeLessThanOrEqual(probability);
      expect(high).toBeGreaterThanOrEqual(probability);
      if (i > 0) expect(delayMs).toBeGreaterThan(distribution[i - 1].delayMs);
    });
  });

  it("is the same once books are closed, and forgets what the log forgets", async () => {
    const model = await lived({ retention: { ms: DAY_MS } }, 4);
    const shown = shownIn(await logOf(model));
    for (let next = closing(shown[0].shownAt); next <= closing(shown.at(-1)?.shownAt); next += HOUR_MS / 4) {
      await ring(model, next);
      const answer = await delayOf(model);
      expect(answer).toMatchObject(expectedOf(await logOf(model), answer.silence.since));
    }
    const later = forgetting(shown[0].shownAt, DAY_MS);
    await ring(model, later);
    const answer = await delayOf(model);
    expect(answer.impressions).toBeLessThan(shown.length);
    await expectDelays(model, await logOf(model));
    expect(answer.impressions).toBe(shown.filter(({ shownAt }) => shownAt >= bucketOf(shown[0].shownAt) + QUARTER_MS).length);
    expect(answer).toMatchObject(expectedOf(await logOf(model), answer.silence.since));
  });

  it("counts a single impression of an old bucket that did not convert", async () => {
    const model = await createModel();
    const shownAt = Date.now() - 10 * HOUR_MS;
    const log = [
      { type: "impression", id: "converts", action: "mug", shownAt },
      { type: "impression", id: "does not", action: "mug", shownAt: shownAt + 1 },
      { type: "conversion", impression: "converts", reward: 1, at: shownAt + MINUTE_MS },
    ];
    await call("POST", `/v1/models/${model}/events`, log.map((line) => JSON.stringify(line)).join("\n"));
    const told = await delayOf(model);
    expect(told).toMatchObject({ impressions: 2, conversions: 1, rateSoFar: 0.5 });
    expect(told).toMatchObject(expectedOf(await logOf(model), told.silence.since));
  });

  it("is without what was erased, in open and in closed books", async () => {
    const model = await createModel();
    const ids = await show(model, {}, {}, {}, {}, {});
    const shownAt = Date.now();
    for (const impressionId of ids.slice(0, 3)) {
      tick(MINUTE_MS);
      await convert({ impressionId, reward: 1 });
    }
    await call("DELETE", `/v1/impressions/${ids[0]}`);
    expect(await delayOf(model)).toMatchObject({ impressions: 4, conversions: 2, rateSoFar: 0.5 });
    await ring(model, closing(shownAt));
    // Long enough that only sums are read.
    tick(4 * HOUR_MS);
    await call("DELETE", `/v1/impressions/${ids[1]}`);
    const answer = await delayOf(model);
    expect(answer).toMatchObject({ impressions: 3, conversions: 1, rateSoFar: expect.closeTo(1 / 3, 9) });
    expect(answer).toMatchObject(expectedOf(await logOf(model), answer.silence.since));
  });
});

describe("the alarm for a broken webhook", () => {
  const PER_MINUTE = 20;
  const RATE = 0.3;

  /** A shop in which a share of the visitors converts within ten minutes. Its webhooks may be cut. */
  class Shop {
    readonly model: string;
    readonly #random = stream(11);
    #due: { impressionId: string; timestamp: number }[] = [];

    constructor(model: string) {
      this.model = model;
    }

    /** Plays one minute of traffic. */
    async show(): Promise<void> {
      const shownAt = Date.now();
      const ids = await show(this.model, ...Array.from({ length: PER_MINUTE }, () => ({ shownAt })));
      for (const impressionId of ids) {
        if (this.#random() >= RATE) continue;
        this.#due.push({ impressionId, timestamp: shownAt + Math.floor(10 * MINUTE_MS * this.#random()) });
      }
      tick(MINUTE_MS);
    }

    /** Reports conversions, oldest first, up to a number. */
    async report(most = Number.MAX_SAFE_INTEGER): Promise<number[]> {
      const due = this.#due.filter(({ timestamp }) => timestamp <= Date.now()).toSorted((a, b) => a.timestamp - b.timestamp);
      const sent = due.slice(0, most);
      if (sent.length > 0) {
        const statuses = statusesOf(await convert(sent.map((each) => ({ ...each, reward: 1 }))));
        expect(new Set(statuses)).toEqual(new Set(["applied"]));
      }
      this.#due = this.#due.filter((each) => !sent.includes(each));
      return sent.map(({ timestamp }) => timestamp);
    }

    async silence(): Promise<Delay["silence"]> {
      return (await delayOf(this.model)).silence;
    }
  }

  async function open(): Promise<Shop> {
    const shop = new Shop(await createModel());
    for (let minute = 0; minute < 30; minute++) {
      await shop.show();
      await shop.report();
      if (minute >= 10 && minute % 3 === 0) expect(await shop.silence()).toMatchObject({ alarm: false });
    }
    return shop;
  }

  /** Minutes of traffic until the alarm. */
  async function minutesUntilAlarm(shop: Shop): Promise<number> {
    for (let minute = 1; ; minute++) {
      expect(minute).toBeLessThan(10);
      await shop.show();
      if ((await shop.silence()).alarm) return minute;
    }
  }

  it("rings a dozen expected conversions after it was cut, and stops with the first that gets through, however old", async () => {
    const shop = await open();
    const cutAt = Date.now();
    const minutes = await minutesUntilAlarm(shop);
    // Six are expected per minute.
    expect(minutes).toBeGreaterThanOrEqual(2);
    expect(minutes).toBeLessThanOrEqual(3);
    const { since, expected, chance } = await shop.silence();
    expect(since).toBe(cutAt);
    expect(expected).toBeGreaterThan(10);
    expect(chance).toBeLessThan(1e-5);
    // The state is not in memory alone.
    await evictDurableObject(learnerOf(shop.model));
    expect(await shop.silence()).toEqual({ since, expected, chance, alarm: true });

    for (let minute = 0; minute < 6; minute++) await shop.show();
    const [timestamp] = await shop.report(1);
    expect(Date.now() - timestamp).toBeGreaterThan(8 * MINUTE_MS);
    expect(await shop.silence()).toEqual({ since: Date.now(), expected: 0, chance: 1, alarm: false });
  });

  it("goes on when the books of that time are closed", async () => {
    const shop = await open();
    const since = Date.now();
    for (let minute = 0; minute < 10; minute++) await shop.show();
    for (const bucket of [since - 30 * MINUTE_MS, since - MINUTE_MS, since, since + 9 * MINUTE_MS]) {
      await ring(shop.model, closing(bucket));
      const answer = await delayOf(shop.model);
      expect(answer).toMatchObject(expectedOf(await logOf(shop.model), since));
      expect(answer.silence).toMatchObject({ alarm: true });
    }
  });

  it("stops with one that waits for its impression, and not with a repeated one", async () => {
    const shop = await open();
    const [deferred] = await recommend(shop.model, { defer: true });
    const [shown] = await show(shop.model, {});
    const again = () => convert({ impressionId: shown, reward: 1 }, { id: "msg_again", timestamp });
    const timestamp = Date.now();
    await again();
    await minutesUntilAlarm(shop);
    expect(statusesOf(await again())).toEqual(["duplicate"]);
    expect(await shop.silence()).toMatchObject({ since: timestamp, alarm: true });
    expect(statusesOf(await convert({ impressionId: deferred, reward: 1 }))).toEqual(["orphan"]);
    expect(await shop.silence()).toMatchObject({ since: Date.now(), alarm: false });
  });

  it("does not ring for impressions that are registered late, when their conversions have come", async () => {
    const shop = await open();
    const shownAt = Date.now() - 20 * MINUTE_MS;
    // An hour's worth of impressions, with all their conversions known.
    const late = await show(shop.model, ...Array.from({ length: 200 }, () => ({ shownAt })));
    await convert(late.slice(0, 60).map((impressionId, i) => ({ impressionId, reward: 1, timestamp: shownAt + i * 10_000 })));
    expect(await shop.silence()).toMatchObject({ alarm: false });
    await shop.show();
    expect(await shop.silence()).toMatchObject({ alarm: false });
  });

  /** A shop that delivers conversions once a day, at 6 h, but not from a time on. Calls `each` every three hours. */
  async function batches(days: number, cutAt: number, each: (now: number, silence: Delay["silence"]) => void): Promise<string> {
    const model = await createModel({ window: { ms: 7 * DAY_MS } });
    const waiting: object[] = [];
    for (const end = Date.now() + days * DAY_MS; Date.now() < end; tick(3 * HOUR_MS)) {
      const ids = await show(model, ...Array.from({ length: 8 }, () => ({})));
      waiting.push(...ids.slice(0, 3).map((impressionId) => ({ impressionId, reward: 1, timestamp: Date.now() })));
      if (Date.now() % DAY_MS === 6 * HOUR_MS && Date.now() < cutAt) {
        expect(new Set(statusesOf(await convert(waiting.splice(0))))).toEqual(new Set(["applied"]));
      }
      each(Date.now(), (await delayOf(model))?.silence);
    }
    return model;
  }

  it("learns that conversions arrive once a day, and rings when a batch is eight hours late", async () => {
    const rang: number[] = [];
    let least = 1;
    const cutAt = Date.now() + 8 * DAY_MS;
    const since = cutAt - 18 * HOUR_MS;
    const model = await batches(10, cutAt, (now, silence) => {
      if (silence?.alarm) rang.push((now - since) / HOUR_MS);
      if (now < cutAt) least = Math.min(least, silence?.chance ?? 1);
    });
    expect(least).toBeLessThan(1e-6);
    expect(rang).toEqual([33, 36, 39, 42, 45, 48, 51, 54, 57, 60, 63]);
    const before = (await delayOf(model)).silence;
    await evictDurableObject(learnerOf(model));
    expect((await delayOf(model)).silence).toEqual(before);
    const [{ count }] = await runInDurableObject(learnerOf(model), (_, { storage }) =>
      storage.sql.exec<{ count: number }>("SELECT count(*) AS count FROM arrivals").toArray(),
    );
    expect(count).toBe(8);
  });

  it("forgets arrivals after four weeks", async () => {
    const model = await createModel({ window: { ms: 7 * DAY_MS } });
    const arrivals = () =>
      runInDurableObject(learnerOf(model), (_, { storage }) =>
        storage.sql
          .exec<{ slot: number }>("SELECT slot FROM arrivals")
          .toArray()
          .map(({ slot }) => slot * QUARTER_MS),
      );
    const times: number[] = [];
    for (const later of [0, 1, QUARTER_MS, 14 * DAY_MS, 14 * DAY_MS]) {
      tick(later);
      const [impressionId] = await show(model, {});
      await convert({ impressionId, reward: 1 });
      times.push(bucketOf(Date.now()));
    }
    expect(await arrivals()).toEqual(times.slice(3));
    expect(times[0]).toBe(times[1]);
  });
});
