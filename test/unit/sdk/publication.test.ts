import { getHeapStatistics } from "node:v8";
import { delayLinTs, delayLinUcb, policies, Recommender, SnapshotError } from "afterclick";
import { beforeAll, describe, expect, it } from "vitest";
import { freshCore } from "../../support/core.ts";
import { contentsOf, crafted } from "../../support/crafted/crafted.ts";

const { core } = freshCore();
let recommender: Recommender;
let bytes: Uint8Array;

beforeAll(async () => {
  recommender = await Recommender.create({ policy: delayLinTs({ dimension: 3, rewards: "bernoulli" }), window: { ms: 1000 } });
  for (let i = 0; i < 6; i++) {
    const { action } = recommender.recommend({ candidates: [{ features: [1, 0, i / 8] }, { features: [0, 1, i / 4] }], now: 100 * i });
    recommender.convert({ impressionId: action.impressionId, reward: 1, at: 100 * i + 50 });
  }
  bytes = recommender.publication();
});

const codeOf = async (changed: Uint8Array): Promise<string> => {
  const error = await Recommender.restore(changed, { policies }).catch((caught) => caught);
  expect(error).toBeInstanceOf(SnapshotError);
  return error.code;
};

describe("a publication", () => {
  it("has a header like a snapshot's, with a magic of its own", () => {
    const [own, snapshot] = [bytes, recommender.snapshot()].map((each) => each.subarray(0, 48));
    expect(new TextDecoder().decode(own.subarray(0, 4))).toBe("aftp");
    expect(own.subarray(4)).toEqual(snapshot.subarray(4));
  });

  it("has the solved mean, the growth of exploration, the moment and the factor", () => {
    const [config, ...sections] = contentsOf(bytes).sections;
    expect(JSON.parse(config as string)).toMatchObject({ policy: { dimension: 3 }, round: 6 });
    expect(sections.map(({ length }) => length)).toEqual([2, 3, 1, 3, 6]);
  });

  it("is no snapshot, nor a snapshot a publication, even with the right checksum", async () => {
    for (const [from, to] of [
      [recommender.snapshot(), bytes],
      [bytes, recommender.snapshot()],
    ]) {
      const contents = contentsOf(from);
      expect(await codeOf(crafted(core, { ...contents, head: to.subarray(0, 64) }))).toBe("malformed");
    }
  });

  it("is refused with numbers that no writer writes", async () => {
    const contents = contentsOf(bytes);
    const withNumber = (section: number, place: number, value: number): Uint8Array => {
      const numbers = (contents.sections[section] as readonly number[]).with(place, value);
      return crafted(core, { ...contents, sections: contents.sections.with(section, numbers) });
    };
    expect(crafted(core, contents)).toEqual(bytes);
    expect(await codeOf(withNumber(1, 0, -1))).toBe("malformed");
    for (const section of [1, 2, 3, 4])
      for (const value of [Number.NaN, Infinity]) expect(await codeOf(withNumber(section, 0, value))).toBe("malformed");
    expect(await codeOf(crafted(core, { ...contents, sections: [...contents.sections, [1]] }))).toBe("malformed");
  });

  it("takes no memory for more features than it has", async () => {
    const contents = contentsOf(bytes);
    const config = JSON.parse(contents.sections[0] as string);
    const sections = contents.sections.with(0, JSON.stringify({ ...config, policy: { ...config.policy, dimension: 4096 } }));
    const before = getHeapStatistics().external_memory;
    expect(await codeOf(crafted(core, { ...contents, dimension: 4096, sections }))).toBe("malformed");
    expect(getHeapStatistics().external_memory - before).toBeLessThan(64 * 2 ** 20);
  });

  it.each([delayLinTs, delayLinUcb])("has enough numbers for its dimension, whatever it is (%#)", async (factory) => {
    for (const dimension of [1, 2, 64, 300]) {
      const small = await Recommender.create({ policy: factory({ dimension }), window: "none" });
      await Recommender.restore(small.publication(), { policies });
    }
  });
});
