import { type ConversionEvent, NumericalError, otfLinUcb, policies, Recommender } from "afterclick";
import type { Outcome } from "afterclick/research";
import fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";
import { type Listed, listed } from "../conformance/stated.ts";
import { create, history } from "../support/logs/history.ts";
import { candidatesFor, stream } from "../support/scenario.ts";

// A call that throws has changed nothing: the snapshot has the same bits, and decisions go on.

afterEach(() => {
  vi.restoreAllMocks();
});

interface Base {
  readonly bytes: Uint8Array;
  /** An impression without a reward, and one with a reward. */
  readonly pending: string;
  readonly converted: string;
}

async function baseOf({ factory, setting }: Listed): Promise<Base> {
  const recommender = await create(factory, setting, { ms: 60_000 });
  const events = history(recommender, setting, stream(31)).filter(({ at }) => at < 31_000);
  const converted = events[events.length - 1].impressionId;
  for (const event of events.slice(5)) recommender.convert(event);
  const { action } = recommender.recommend({ candidates: candidatesFor(setting, stream(32)), now: 31_000 });
  return { bytes: recommender.snapshot(), pending: action.impressionId, converted };
}

const restored = ({ bytes }: Base): Promise<Recommender> => Recommender.restore(bytes, { policies });

/** The next decision of the recommender. */
const nextOf = (recommender: Recommender, { setting }: Listed) =>
  recommender.policy.choose({ candidates: candidatesFor(setting, stream(33)), round: 32, now: 32_000 });

/** Whether a call throws. If so, it has changed nothing. */
function refuses(recommender: Recommender, base: Base, each: Listed, next: unknown, call: () => unknown): boolean {
  try {
    call();
    return false;
  } catch (error) {
    expect(Buffer.compare(recommender.snapshot(), base.bytes), `${each.name}: ${error}`).toBe(0);
    expect(nextOf(recommender, each), `${each.name}: ${error}`).toEqual(next);
    return true;
  }
}

/** Mostly a right value, so that one wrong value meets right ones. */
const mostly = <T>(right: T, ...wrong: unknown[]) =>
  fc.oneof({ weight: 3, arbitrary: fc.constant<unknown>(right) }, { weight: 1, arbitrary: fc.constantFrom<unknown>(...wrong) });

const wrongFeatures = [
  undefined,
  [],
  Float64Array.of(1),
  Float64Array.of(0.25, 0.125, 0.0625, 0.5),
  Float64Array.of(0.25, Number.NaN, 0, 0),
  Float64Array.of(1e300, 0, 0, 0),
];

const fields = fc.record({
  of: fc.constantFrom<"pending" | "converted">("pending", "converted"),
  reward: mostly(0.5, Number.NaN, Number.POSITIVE_INFINITY, "1", 1e101, -1e200, Number.MAX_VALUE, undefined),
  previous: mostly("right", "wrong", 0.25, Number.NaN, 1e200, -Number.MAX_VALUE, null),
  slot: mostly("right", -2, -1, 0, 0.5, 31, 1e9, 2 ** 53, Number.NaN, "0"),
  features: mostly("right", ...wrongFeatures),
  round: mostly("right", 0, -1, 0.5, Number.NaN, "1"),
  now: mostly("right", -1, Number.NaN, "1"),
  delay: mostly(undefined, { after: Number.NaN }, { after: -1 }, { before: Number.POSITIVE_INFINITY }, { before: "1" }),
});

/** An outcome with the given fields, the right ones from the impression itself. */
function outcomeOf(recommender: Recommender, base: Base, { of, reward, previous, delay, ...wrong }: Record<string, unknown>): Outcome {
  const impression = { ...recommender.impression(base[of as "pending" | "converted"]) } as Record<string, unknown>;
  const known = impression.reward;
  for (const [field, value] of Object.entries(wrong)) if (value !== "right") impression[field] = value;
  const before = previous === "right" ? known : previous === "wrong" ? (known === undefined ? 0.5 : undefined) : previous;
  return { impression, reward, previous: before, delay } as unknown as Outcome;
}

describe("policy.observe", () => {
  it.each(listed)("of $name changes nothing when it throws", async (each) => {
    const base = await baseOf(each);
    let recommender = await restored(base);
    const next = nextOf(recommender, each);
    let refused = 0;
    await fc.assert(
      fc.asyncProperty(fields, async (given) => {
        const outcome = outcomeOf(recommender, base, given);
        if (refuses(recommender, base, each, next, () => recommender.policy.observe(outcome))) refused++;
        else recommender = await restored(base);
      }),
      { numRuns: 60 },
    );
    expect(refused).toBeGreaterThan(30);
  });
});

describe("a list", () => {
  it("registers none of its places if the policy fails at a later one", async () => {
    const recommender = await Recommender.create({ policy: otfLinUcb({ dimension: 1 }), window: { ms: 1000 } });
    const ask = (now: number) => recommender.recommend({ candidates: [{ features: [1] }, { features: [0.5] }], now, limit: 2 });
    ask(1);
    const append = recommender.policy.append.bind(recommender.policy);
    const fail = (): never => {
      throw new NumericalError("out-of-memory", "no memory for the second place");
    };
    vi.spyOn(recommender.policy, "append").mockImplementationOnce(append).mockImplementationOnce(fail);
    expect(() => ask(2)).toThrow("no memory for the second place");
    expect(recommender.counts().pending).toBe(2);
    const { round, ranking } = ask(3);
    expect(round).toBe(2);
    for (const { impressionId } of ranking) expect(recommender.impression(impressionId)?.now).toBe(3);
    const restored = await Recommender.restore(recommender.snapshot(), { policies });
    expect(restored.counts()).toEqual(recommender.counts());
  });
});

describe("a recommender", () => {
  const conversion = (impressionId: string, wrong: object) => ({ impressionId, reward: 0.5, at: 31_500, ...wrong }) as ConversionEvent;

  it.each(listed)("of $name changes nothing when it refuses a call", async (each) => {
    const base = await baseOf(each);
    const recommender = await restored(base);
    const next = nextOf(recommender, each);
    const candidates = candidatesFor(each.setting, stream(34));
    const features = recommender.impression(base.pending)?.features;
    const calls: (() => unknown)[] = [
      ...[{ reward: 2 }, { reward: Number.NaN }, { at: undefined }, { at: Number.NaN }, { goal: "" }, { eventId: 1 }].map(
        (wrong) => () => recommender.convert(conversion(base.pending, wrong)),
      ),
      ...[Number.NaN, -1, undefined, 2 ** 54].map((now) => () => recommender.expire(now as number)),
      ...[Number.NaN, -1, undefined, 2 ** 54].map((now) => () => recommender.recommend({ candidates, now })),
      ...[0, 0.5].map((limit) => () => recommender.recommend({ candidates, now: 32_000, limit })),
      () => recommender.recommend({ candidates, now: 32_000, impressionId: base.pending }),
      () => recommender.recommend({ candidates: [{ features: [1, 2] }, {}], now: 32_000, limit: 0.5 }),
      () => recommender.register({ impressionId: base.pending, features, now: 32_000 }),
      () => recommender.register({ impressionId: "new", features, now: -1 }),
      () => recommender.register({ impressionId: "", features, now: 32_000 }),
      ...(recommender.policy.dimension > 0
        ? wrongFeatures
            .filter((wrong, i) => i !== 3 && wrong !== features)
            .map((wrong) => () => recommender.register({ impressionId: "new", features: wrong, now: 32_000 }))
        : []),
    ];
    for (const call of calls) expect(refuses(recommender, base, each, next, call), call.toString()).toBe(true);
  });

  it.each(listed)("of $name forgets a conversion that its policy refuses, and takes it later", async (each) => {
    const base = await baseOf(each);
    const recommender = await restored(base);
    const next = nextOf(recommender, each);
    const event = conversion(base.pending, {});
    const observe = vi.spyOn(recommender.policy, "observe").mockImplementation(() => {
      throw new Error("refused");
    });
    expect(refuses(recommender, base, each, next, () => recommender.convert(event))).toBe(true);
    observe.mockRestore();
    expect(recommender.convert(event)).toEqual({ status: "applied" });
    const twin = await restored(base);
    twin.convert(event);
    expect(recommender.snapshot()).toEqual(twin.snapshot());
  });

  it.each(listed)("of $name counts no round of which its policy refuses the impression", async (each) => {
    const base = await baseOf(each);
    const recommender = await restored(base);
    const next = nextOf(recommender, each);
    const candidates = candidatesFor(each.setting, stream(34));
    vi.spyOn(recommender.policy, "append").mockImplementation(() => {
      throw new Error("refused");
    });
    expect(refuses(recommender, base, each, next, () => recommender.recommend({ candidates, now: 32_000 }))).toBe(true);
    expect(refuses(recommender, base, each, next, () => recommender.register({ impressionId: "new", features: [0, 0, 0, 0], now: 32_000 }))).toBe(true); // biome-ignore format: one line
  });
});
