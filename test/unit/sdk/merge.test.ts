import {
  delayLinTs,
  delayLinUcb,
  gpUcbSdf,
  merge,
  otfLinTs,
  type PolicyDescriptor,
  policies,
  Recommender,
  type RecommenderOptions,
  SnapshotError,
  UnsupportedError,
} from "afterclick";
import type { DelayLinTsOptions, Outcome } from "afterclick/research";
import { describe, expect, it } from "vitest";
import { shuffled } from "../../../src/simulation/stream.ts";
import { freshCore } from "../../support/core.ts";
import { contentsOf, crafted } from "../../support/crafted/crafted.ts";
import { dyadicVectors, stream } from "../../support/scenario.ts";

const WINDOW = { ms: 60_000 };
const START = 1_700_000_000_000;
const { core } = freshCore();

/** A recommender that has learnt two impressions of its own. */
async function small(options: Partial<RecommenderOptions> = {}, name = "a"): Promise<Recommender> {
  const recommender = await Recommender.create({ policy: delayLinTs({ dimension: 2 }), window: WINDOW, ...options });
  for (const i of [1, 2]) recommender.register({ impressionId: `${name}${i}`, features: [0.5, i / 4], now: START + i });
  const [goal = "conversion"] = Object.keys(options.goals ?? {});
  recommender.convert({ impressionId: `${name}1`, goal, reward: 0.5, at: START + 9 });
  return recommender;
}

const merged = (...snapshots: Uint8Array[]) => merge(snapshots, { policies });
const refused = (...snapshots: Uint8Array[]) => merged(...snapshots).catch((error) => error);

describe("merge refuses", () => {
  const { max: _, ...reward } = { min: 0, max: 1 };
  it.each<[string, Partial<RecommenderOptions>, string]>([
    ["policy", { policy: delayLinUcb({ dimension: 2 }) }, 'got ["delay-lin-ucb"'],
    ["policy", { policy: delayLinTs({ dimension: 2, ridge: 0.5 }) }, '"ridge":0.5'],
    ["window", { window: { ms: 90_000 } }, '{"ms":60000}, got {"ms":90000}'],
    ["reward", { reward: { ...reward, max: 2 } }, '{"min":0,"max":2}'],
    ["seed", { seed: 4 }, "0, got 4"],
    ["examination", { examination: [1, 0.5] }, "undefined, got [1,0.5]"],
    ["goals", { goals: { click: { weight: 1 } } }, 'undefined, got {"click":{"weight":1}}'],
  ])("another %s, and names both", async (option, options, named) => {
    const error = await refused((await small()).snapshot(), (await small(options, "b")).snapshot());
    expect(error).toBeInstanceOf(SnapshotError);
    expect(error.code).toBe("differs");
    expect(error.message).toContain(`snapshots[1]: expected the ${option} of the first snapshot, `);
    expect(error.message).toContain(named);
  });

  it("another dimension", async () => {
    const other = await Recommender.create({ policy: delayLinTs({ dimension: 3 }), window: WINDOW });
    const error = await refused((await small()).snapshot(), other.snapshot());
    expect([error.name, error.code]).toEqual(["SnapshotError", "differs"]);
    expect(error.message).toContain('"dimension":3');
  });

  it("an impression in two snapshots", async () => {
    const bytes = (await small()).snapshot();
    expect(await refused(bytes, bytes)).toMatchObject({ name: "SnapshotError", code: "differs", message: expect.stringContaining('"a1"') });
  });

  it("no snapshot, and what is no list", async () => {
    expect(await refused()).toEqual(new RangeError("snapshots: expected at least one snapshot, got none"));
    await expect(merge(new Uint8Array(8) as never, { policies })).rejects.toThrow(TypeError);
  });

  it("a publication", async () => {
    const recommender = await small();
    const [whole, published] = [recommender.snapshot(), recommender.publication()];
    for (const given of [[published], [whole, published]]) expect((await refused(...given)).code).toBe("only-decides");
  });

  it("a window in rounds, and none", async () => {
    for (const window of [{ rounds: 9 }, "none"] as const) {
      const error = await refused((await small({ window })).snapshot());
      expect(error).toBeInstanceOf(UnsupportedError);
      expect(error.code).toBe("rounds");
    }
  });

  it.each<[PolicyDescriptor, string]>([
    [gpUcbSdf({ dimension: 2 }), "a policy whose state is a sum"],
    [otfLinTs({ dimension: 2 }), 'norms: "exact"'],
    [delayLinTs({ dimension: 2, rewards: "bernoulli" }), 'rewards: "linear"'],
    [delayLinTs({ dimension: 2, forgetting: { halfLife: 9 } }), 'rewards: "linear", and forgetting: "changes" or null'],
  ])("a policy whose state is no sum: %o", async (policy, named) => {
    const recommender = await small({ policy });
    expect(recommender.policy.merges).not.toBe(true);
    const error = await refused(recommender.snapshot());
    expect(error).toBeInstanceOf(UnsupportedError);
    expect(error.code).toBe("no-sum");
    expect(error.message).toContain(`${policy.id}: expected ${named}`);
  });

  it("sums that are no numbers, negative counts, and altered bytes", async () => {
    const [first, bytes] = [(await small()).snapshot(), (await small({}, "b")).snapshot()];
    const contents = contentsOf(bytes);
    const codeOf = async (section: number, place: number, value: number): Promise<string> => {
      const numbers = (contents.sections[section] as readonly number[]).with(place, value);
      return (await refused(first, crafted(core, { ...contents, sections: contents.sections.with(section, numbers) }))).code;
    };
    // V, B and the factor of V, then the impressions.
    for (const value of [Number.NaN, Number.POSITIVE_INFINITY])
      for (const section of [1, 2]) expect(await codeOf(section, 0, value)).toBe("malformed");
    expect(await codeOf(4, 0, -1)).toBe("malformed");
    // Delays of impressions that are older than the window, and the count of a cohort.
    expect(await codeOf(12, 0, -1)).toBe("malformed");
    expect(await codeOf(13, 3, -1)).toBe("malformed");
    const altered = bytes.with(200, bytes[200] ^ 1);
    expect((await refused(first, altered)).code).toBe("checksum");
    expect((await refused(first, bytes.subarray(0, 80))).code).toBe("truncated");
  });
});

describe("a merged recommender", () => {
  it("goes on: events of impressions from either snapshot count, and repetitions do not", async () => {
    const [first, second] = [await small(), await small({}, "b")];
    const whole = await merged(first.snapshot(), second.snapshot());
    expect(whole.counts()).toEqual({ pending: 2, converted: 2, expired: 0, retracted: 0 });
    const event = { impressionId: "b1", reward: 0.5, at: START + 9 };
    expect(whole.convert(event)).toEqual({ status: "duplicate" });
    expect(whole.convert({ ...event, impressionId: "b2" })).toEqual({ status: "applied" });
    expect(whole.convert({ ...event, reward: null, at: START + 10 })).toEqual({ status: "applied" });
    second.convert({ ...event, impressionId: "b2" });
    second.convert({ ...event, reward: null, at: START + 10 });
    whole.policy.refactor();
    expect(whole.snapshot()).toEqual((await merged(second.snapshot(), first.snapshot())).snapshot());
  });

  it("forgets a change of rates as the one that has learnt all", async () => {
    const policy = delayLinTs({ dimension: 2 });
    const parts = await Promise.all(["all", 0, 1, 2, 3].map(() => Recommender.create({ policy, window: WINDOW })));
    const random = stream(3);
    for (let i = 0; i < 2000; i++) {
      const shown = { features: [Number(i % 2 === 0), Number(i % 2)], round: i + 1, now: START + 100 * i };
      const rate = (i % 2 === 0) === i < 1200 ? 0.4 : 0.05;
      const [reward, after] = [Number(random() < rate), Math.floor(3000 * random())];
      for (const { policy } of [parts[0], parts[1 + (i % 4)]])
        policy.observe({ impression: policy.append(shown), reward, delay: { after } });
    }
    const [all, ...others] = parts;
    all.policy.refactor();
    expect(all.policy.change?.probability).toBeGreaterThan(0.99);
    const whole = await merged(...others.map((each) => each.snapshot()));
    expect(whole.policy.change).toEqual(all.policy.change);
    expect(Buffer.compare(whole.snapshot(), all.snapshot())).toBe(0);
    expect(Buffer.compare(whole.publication(), all.publication())).toBe(0);
  });
});

describe("sums stay exact", () => {
  const goals = { click: { weight: 0.5 }, purchase: { weight: 1, after: "click", value: { currency: "EUR" } } } as const;

  /** An impression with its outcome, for the research loop. */
  interface Told extends Omit<Outcome, "impression"> {
    readonly features: readonly number[];
    readonly now: number;
  }

  function told(seed: number, count: number, from: number): Told[] {
    const random = stream(seed);
    return dyadicVectors(random, count, 3).map((vector, i): Told => {
      const [reward, amount, after] = [Math.floor(random() * 4097) / 4096, Math.floor(random() * 1e5) / 64, Math.floor(random() * 9000)];
      const outcomes =
        random() < 0.3
          ? { click: { reward: 1, delay: after }, ...(random() < 0.5 && { purchase: { reward: amount, delay: after + 500 } }) }
          : {};
      return { features: [4095 / 4096, ...vector], now: from + 7 * i, reward, delay: { after }, goals: { before: {}, after: outcomes } };
    });
  }

  function learn({ policy }: Recommender, impressions: readonly Told[]): void {
    for (const { features, now, reward, ...rest } of impressions) {
      const impression = policy.append({ features, now, round: 1 });
      if (reward < 0.5) policy.observe({ impression, reward, ...rest });
    }
  }

  it.each<[string, PolicyDescriptor, RecommenderOptions["goals"]]>([
    ["delay-lin-ts", delayLinTs({ dimension: 4 }), undefined],
    ["delay-lin-ts in a funnel with amounts", delayLinTs({ dimension: 4 }), goals],
    ["delay-lin-ts without forgetting", delayLinTs({ dimension: 4, forgetting: null } as DelayLinTsOptions), undefined],
    ["delay-lin-ucb of a fixed ridge", delayLinUcb({ dimension: 4, shrinkage: "fixed" }), goals],
    ["otf-lin-ts", otfLinTs({ dimension: 4, norms: "exact" }), undefined],
  ])("beyond ten thousand million impressions: %s", async (name, policy, goals) => {
    const create = () => Recommender.create({ policy, goals, window: name === "otf-lin-ts" ? { ms: 5 } : WINDOW });
    const start = await create();
    learn(start, told(1, 1000, START));
    let bytes = start.snapshot();
    for (let i = 0; i < 24; i++) {
      const twice = await merged(bytes, bytes);
      // One more, with which the window of others closes: open impressions would double too.
      learn(twice, told(3, 1, START + 10_000 + 10 * i));
      twice.policy.refactor();
      bytes = twice.snapshot();
    }
    const more = told(2, 3000, START + 11_000);
    const all = await Recommender.restore(bytes, { policies });
    learn(all, more);
    all.policy.refactor();
    expect(all.policy.impressions).toBe(1001 * 2 ** 24 - 1 + more.length);
    // The sum of the squares of the first feature takes 58 bits, and is known to the last of them.
    expect(all.policy.statistics()[0] * 2 ** 24).toBe(Number(BigInt(all.policy.impressions) * 4095n ** 2n));
    for (const order of [more, more.toReversed(), shuffled([...more], stream(5))]) {
      for (const count of [1, 4, 16]) {
        const parts = await Promise.all(Array.from({ length: count }, create));
        for (const [i, part] of parts.entries())
          learn(
            part,
            order.filter((_, place) => place % count === i),
          );
        const snapshots = [bytes, ...parts.map((part) => part.snapshot())];
        const whole = await merged(...(count === 4 ? snapshots.toReversed() : snapshots));
        expect(whole.digest(), `${count} parts`).toBe(all.digest());
        expect(Buffer.compare(whole.snapshot(), all.snapshot()), `${count} parts`).toBe(0);
        expect(Buffer.compare(whole.publication(), all.publication()), `${count} parts`).toBe(0);
      }
    }
  });

  it("say how much of their range they have used, and are refused beyond it", async () => {
    const recommender = await Recommender.create({ policy: delayLinTs({ dimension: 1 }), window: WINDOW });
    expect(recommender.policy.rangeUsed).toBe(0);
    recommender.policy.append({ features: [1], round: 1, now: START });
    expect(recommender.policy.rangeUsed).toBe(2 ** -52);
    let bytes = recommender.snapshot();
    for (let i = 0; i < 52; i++) bytes = (await merged(bytes, bytes)).snapshot();
    expect((await merged(bytes)).policy.rangeUsed).toBe(1);
    await expect(merged(bytes, bytes)).rejects.toThrow("count: expected a whole number between 0 and 4503599627370496");
  });
});
