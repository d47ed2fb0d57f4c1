import { delayLinTs, delayLinUcb, dlpp, miniGpUcb, otfLinUcb, type PolicyFactory, policies, Recommender, SnapshotError } from "afterclick";
import { describe, expect, it } from "vitest";
import { learnt } from "../../conformance/learnt.ts";
import { listed } from "../../conformance/stated.ts";
import { freshCore } from "../../support/core.ts";

// Snapshots with a correct checksum and wrong contents.

const { core } = freshCore();
const HEADER = 64;

/** Replaces the contents of a snapshot and corrects the checksum. */
function forged(bytes: Uint8Array, change: (view: DataView) => void): Uint8Array {
  const copy = bytes.slice();
  const view = new DataView(copy.buffer);
  change(view);
  view.setBigUint64(56, BigInt(`0x${core.checksum(copy.subarray(0, 56), copy.subarray(HEADER))}`), true);
  return copy;
}

const refusal = async (bytes: Uint8Array, known = policies): Promise<string> => {
  const error = await Recommender.restore(bytes, { policies: known }).catch((caught) => caught);
  expect(error).toBeInstanceOf(SnapshotError);
  return error.code;
};

interface Section {
  readonly start: number;
  readonly count: number;
}

/** Position of the policy state's numbers: sections after the configuration and before the pending impressions. */
function sectionsOf(bytes: Uint8Array): Section[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const sections: Section[] = [];
  for (let at = HEADER; at < bytes.length; ) {
    const count = view.getFloat64(at, true);
    const text = isText(bytes, at + 8, count);
    sections.push({ start: at + 8, count });
    at += 8 + (text ? (count + 7) & ~7 : 8 * count);
  }
  return sections;
}

/** Whether a section holds JSON instead of numbers. */
function isText(bytes: Uint8Array, start: number, count: number): boolean {
  try {
    return typeof JSON.parse(new TextDecoder().decode(bytes.subarray(start, start + count))) === "object";
  } catch {
    return false;
  }
}

async function small(): Promise<Uint8Array> {
  const recommender = await Recommender.create({ policy: otfLinUcb({ dimension: 2 }), window: { ms: 1000 } });
  recommender.register({ impressionId: "é", features: [1, 0], now: 5 });
  recommender.convert({ impressionId: "é", reward: 0.5, at: 9 });
  return recommender.snapshot();
}

describe("a snapshot", () => {
  it("restores from any place of a larger buffer", async () => {
    const bytes = await small();
    for (let offset = 0; offset < 9; offset++) {
      const buffer = new Uint8Array(bytes.length + 16);
      buffer.set(bytes, offset);
      const restored = await Recommender.restore(buffer.subarray(offset, offset + bytes.length), { policies });
      expect(restored.snapshot()).toEqual(bytes);
      expect(restored.impression("é")).toMatchObject({ status: "converted", reward: 0.5, now: 5 });
    }
  });

  it("has its header at the documented places", async () => {
    const bytes = await small();
    const view = new DataView(bytes.buffer);
    expect(new TextDecoder().decode(bytes.subarray(0, 4))).toBe("aftc");
    expect(new TextDecoder().decode(bytes.subarray(8, 32))).toBe("otf-lin-ucb".padEnd(24, "\0"));
    expect([4, 32, 36].map((at) => view.getUint32(at, true))).toEqual([2, 1, 2]);
    expect([40, 48].map((at) => view.getFloat64(at, true))).toEqual([1, bytes.length]);
    expect(bytes.length % 8).toBe(0);
    expect(forged(bytes, () => {})).toEqual(bytes);
  });

  it("is refused if its state has another version, or its policy another dimension", async () => {
    const bytes = await small();
    expect(await refusal(forged(bytes, (view) => view.setUint32(32, 2, true)))).toBe("state-version");
    expect(await refusal(forged(bytes, (view) => view.setUint32(36, 3, true)))).toBe("malformed");
    const newer = Object.assign((options: object) => ({ ...otfLinUcb(options as never), stateVersion: 2 }), { id: "otf-lin-ucb" });
    expect(await refusal(bytes, [newer as unknown as PolicyFactory])).toBe("state-version");
  });

  it("is refused if a section is longer than the rest, or has no whole length", async () => {
    const bytes = await small();
    for (const { start, count } of sectionsOf(bytes)) {
      for (const wrong of [-1, 0.5, 1e9, Number.NaN]) {
        expect(await refusal(forged(bytes, (view) => view.setFloat64(start - 8, wrong, true)))).toBe("malformed");
      }
      // One longer than stated, so that the next section begins elsewhere.
      expect(await refusal(forged(bytes, (view) => view.setFloat64(start - 8, count + 8, true)))).toBe("malformed");
    }
  });

  it("is refused if something follows its last section", async () => {
    const bytes = await small();
    const longer = new Uint8Array(bytes.length + 8);
    longer.set(bytes);
    expect(await refusal(forged(longer, (view) => view.setFloat64(48, longer.length, true)))).toBe("malformed");
  });
});

it.each([delayLinUcb, delayLinTs])(
  "a regression is refused whose ridge is too small, or whose halvings are no count (%#)",
  async (factory) => {
    const recommender = await Recommender.create({ policy: factory({ dimension: 2, ridge: 0.5 }), window: { rounds: 8 } });
    recommender.register({ impressionId: "a", features: [1, 0] });
    const bytes = recommender.snapshot();
    // Impressions, halvings and impressions at the next halving. Then impressions at the next choice of ridges, the ridges, and no blocks.
    const { start, ridges } = ridgesOf(bytes);
    const changed = (at: number, value: number): Uint8Array => forged(bytes, (view) => view.setFloat64(at, value, true));
    expect((await Recommender.restore(changed(ridges, 0.5), { policies })).snapshot()).toEqual(bytes);
    for (const [at, value] of [
      [ridges, 0.49],
      [ridges + 8, 0.49],
      [ridges + 8, Number.NaN],
      [start + 8, -1],
      [start + 8, 0.5],
    ])
      expect(await refusal(changed(at, value))).toBe("malformed");
  },
);

/** Where a linear regression of two ridges has its counts, its ridges and its blocks. */
function ridgesOf(bytes: Uint8Array): { readonly start: number; readonly ridges: number; readonly blocks: number } {
  const sections = sectionsOf(bytes);
  const at = sections.findIndex(({ count }, i) => count === 3 && sections[i + 1].count === 1);
  return { start: sections[at].start, ridges: sections[at + 2].start, blocks: sections[at + 3].start };
}

it.each([delayLinUcb, delayLinTs])("a regression is refused whose blocks are none, or of another number (%#)", async (factory) => {
  const policy = factory({ dimension: 3, blocks: [0, 1, 1] });
  const recommender = await Recommender.create({ policy, window: { rounds: 8 } });
  recommender.register({ impressionId: "a", features: [1, 0, 0.5] });
  const bytes = recommender.snapshot();
  const { blocks } = ridgesOf(bytes);
  const changed = (at: number, value: number): Uint8Array => forged(bytes, (view) => view.setFloat64(at, value, true));
  expect((await Recommender.restore(changed(blocks + 16, 1), { policies })).snapshot()).toEqual(bytes);
  // There are ridges for the blocks 0 and 1 alone, and blocks are no more than 255.
  for (const value of [2, 255, 256, 257, -1, 0.5, Number.NaN, Number.POSITIVE_INFINITY])
    for (const i of [0, 1, 2]) expect(await refusal(changed(blocks + 8 * i, value))).toBe("malformed");
  for (const count of [1, 2, 4]) expect(await refusal(resized(bytes, blocks, count))).toBe("malformed");
});

it("a regression is refused that has a ridge for a block beyond 255", async () => {
  const bytes = (await Recommender.create({ policy: delayLinTs({ dimension: 2, blocks: [0, 255] }), window: { rounds: 8 } })).snapshot();
  const sections = sectionsOf(bytes);
  const { start } = sections[sections.findIndex(({ count }) => count === 256)];
  const longer = resized(bytes, start, 257, 0.1);
  const { start: blocks } = sectionsOf(longer)[sectionsOf(longer).findIndex(({ count }) => count === 257) + 1];
  expect(await refusal(forged(longer, (view) => view.setFloat64(blocks + 8, 256, true)))).toBe("malformed");
});

/** Gives a section of numbers another length, with `value` for what it lacks. */
function resized(bytes: Uint8Array, start: number, count: number, value = 1): Uint8Array {
  const before = new DataView(bytes.buffer, bytes.byteOffset).getFloat64(start - 8, true);
  const longer = new Uint8Array(bytes.length + 8 * (count - before));
  longer.set(bytes.subarray(0, start + 8 * Math.min(count, before)));
  longer.set(bytes.subarray(start + 8 * before), start + 8 * count);
  return forged(longer, (view) => {
    view.setFloat64(start - 8, count, true);
    for (let i = before; i < count; i++) view.setFloat64(start + 8 * i, value, true);
    view.setFloat64(48, longer.length, true);
  });
}

const places = { points: [0, 0.5, 0.625, 0.75, 1].map((x) => [x]) };

it.each([
  {
    // Phase, depth and turn, then for each ball its centre, pulls, rewards and their sum, then the ball of each point.
    descriptor: dlpp({ domain: places, horizon: 100, sigma: 1e-6 }),
    shape: [3, 2, 2, 2, 2, 5],
    wrong: [
      [0, 2, 2],
      [0, 2, -1],
      [0, 1, 0],
      [0, 0, 4],
      [0, 0, 1],
      [2, 0, 0],
      [3, 0, 2],
      [3, 1, -1],
      [5, 0, 1],
      [5, 4, 2],
      [5, 4, -2],
    ],
  },
  {
    // Evaluations, those that remain of the batch, its candidate, score, mean and width.
    descriptor: miniGpUcb({ domain: places, threshold: 10 }),
    shape: [6],
    wrong: [
      [0, 0, -1],
      [0, 1, -1],
      [0, 1, 1e6],
      [0, 2, -1],
      [0, 2, 5],
    ],
  },
])("$descriptor.id refuses a state that it cannot have", async ({ descriptor, shape, wrong }) => {
  const recommender = await Recommender.create({ policy: descriptor, window: { rounds: 8 }, seed: 1 });
  for (const reward of [0.5, 0.5, undefined]) {
    const { impressionId } = recommender.recommend({}).action;
    if (reward !== undefined && shape.length > 1) recommender.convert({ impressionId, reward });
    if (recommender.policy.statistics().length === 7) break;
  }
  const bytes = recommender.snapshot();
  const sections = sectionsOf(bytes);
  const first = sections.findIndex((_, i) => shape.every((count, j) => sections[i + j]?.count === count));
  expect(first).toBeGreaterThan(0);
  expect(
    (
      await Recommender.restore(
        forged(bytes, () => {}),
        { policies },
      )
    ).snapshot(),
  ).toEqual(bytes);
  for (const [section, place, value] of wrong) {
    const { start } = sections[first + section];
    expect([section, place, value, await refusal(forged(bytes, (view) => view.setFloat64(start + 8 * place, value, true)))]).toEqual([section, place, value, "malformed"]); // biome-ignore format: one line
  }
});

it.each(listed.filter(({ factory }) => factory.id !== "uniform"))(
  "$name refuses a number that is not finite, in every section",
  async (each) => {
    const bytes = (await learnt(each)).recommender.snapshot();
    for (const [i, { start, count }] of sectionsOf(bytes).slice(1).entries()) {
      if (count === 0 || isText(bytes, start, count)) continue;
      // Changes the first, the middle and the last in turn.
      const place = [0, Math.floor(count / 2), count - 1][i % 3];
      const wrong = i % 2 ? Number.NEGATIVE_INFINITY : Number.NaN;
      expect(await refusal(forged(bytes, (view) => view.setFloat64(start + 8 * place, wrong, true)))).toBe("malformed");
    }
  },
);
