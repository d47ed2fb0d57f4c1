import { evictDurableObject } from "cloudflare:test";
import { policies, Recommender } from "afterclick";
import { expect, it } from "vitest";
import { shuffled, stream } from "../../../src/simulation/stream.ts";
import { call, createModel, learnerOf } from "../support/client.ts";
import { DAY_MS, useClock } from "../support/clock.ts";

// Policies learn delays from the times of events, so the order in which events arrive changes nothing.

useClock();

const TRUTH = 0.1;
const WINDOW_MS = 7 * DAY_MS;
const SHOWN_MS = 9 * DAY_MS;
const COUNT = 4000;

interface Shown {
  readonly id: string;
  readonly shownAt: number;
}
interface Converted {
  readonly impression: string;
  readonly at: number;
}

/** A product that is shown for nine days, and bought 2 to 5 days later by a tenth of its visitors. Later purchases are not known yet. */
function history(now: number): { readonly shown: Shown[]; readonly converted: Converted[] } {
  const random = stream("event times");
  const shown = Array.from({ length: COUNT }, (_, n) => ({
    id: `visit ${n}`,
    shownAt: now - SHOWN_MS + Math.floor((n * SHOWN_MS) / COUNT),
  }));
  const converted = shown.flatMap(({ id, shownAt }) => {
    const [bought, at] = [random() < TRUTH, shownAt + Math.floor((2 + 3 * random()) * DAY_MS)];
    return bought && at <= now ? [{ impression: id, at }] : [];
  });
  return { shown, converted };
}

const impressionLine = ({ id, shownAt }: Shown) => ({ type: "impression", id, action: { id: "mug", features: [1, 0.5] }, shownAt });
const conversionLine = (conversion: Converted) => ({
  type: "conversion",
  ...conversion,
  reward: 1,
  event: `order of ${conversion.impression}`,
});

const orders: Readonly<Record<string, (now: number) => object[]>> = {
  "in order of time": (now) => {
    const { shown, converted } = history(now);
    const timed = [
      ...shown.map((each) => ({ at: each.shownAt, line: impressionLine(each) as object })),
      ...converted.map((each) => ({ at: each.at, line: conversionLine(each) as object })),
    ];
    return timed.toSorted((a, b) => a.at - b.at).map(({ line }) => line);
  },
  "impression by impression": (now) => {
    const { shown, converted } = history(now);
    return shown.flatMap((each) => [
      impressionLine(each),
      ...converted.filter(({ impression }) => impression === each.id).map(conversionLine),
    ]);
  },
  "impressions first": (now) => {
    const { shown, converted } = history(now);
    return [...shown.map(impressionLine), ...converted.map(conversionLine)];
  },
  "impressions first, then conversions in any order": (now) => {
    const { shown, converted } = history(now);
    return [...shown.map(impressionLine), ...shuffled(converted, stream("order")).map(conversionLine)];
  },
};

/** Digest of a model, and its predictions after all is computed again from the sums. */
async function learntOf(model: string) {
  const { body } = await call("GET", `/v1/models/${model}/snapshot`);
  const { policy } = await Recommender.restore(new Uint8Array(body), { policies });
  policy.refactor();
  return { digest: policy.digest(), intervals: policy.interval([[1, 0.5]]) };
}

async function importedInto(options: object, order: (now: number) => object[]): Promise<string> {
  const model = await createModel({ options: { dimension: 2, ...options }, window: { ms: WINDOW_MS }, featureNorm: 2 });
  const lines = order(Date.now()).map((line) => JSON.stringify(line));
  const { body } = await call("POST", `/v1/models/${model}/events`, lines.join("\n"));
  expect(body).toMatchObject({ impressions: COUNT, conversions: { applied: lines.length - COUNT } });
  return model;
}

it("a log is learnt the same in every order, also after a cold start", async () => {
  const expected = await learntOf(await importedInto({ shrinkage: "fixed" }, orders["in order of time"]));
  for (const [name, order] of Object.entries(orders).slice(1)) {
    const model = await importedInto({ shrinkage: "fixed" }, order);
    expect(await learntOf(model), name).toEqual(expected);
    await evictDurableObject(learnerOf(model));
    expect(await learntOf(model), name).toEqual(expected);
  }
});

it.each(Object.entries(orders).slice(2))("%s: the default policy's estimate is the truth within its error", async (_, order) => {
  const { intervals } = await learntOf(await importedInto({}, order));
  const [{ mean, low, high }] = intervals;
  expect(low).toBeLessThan(TRUTH);
  expect(high).toBeGreaterThan(TRUTH);
  expect(Math.abs(mean - TRUTH)).toBeLessThan(0.01);
});
