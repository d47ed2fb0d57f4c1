import { encoder, type NamedFeatures } from "afterclick";
import { type Features, featurizer } from "afterclick/research";
import { describe, expect, it, vi } from "vitest";
import { type Publication, readPublication } from "../../../src/local/publication.ts";
import { encode } from "../../../src/publication/codec.ts";
import { matrixOf } from "../../support/reference/matrix.ts";

const config: Publication["config"] = {
  policy: "otf-lin-ts",
  window: { ms: 1000 },
  encoder: null,
  draws: 100,
  greedy: false,
  minimumShare: 0,
};
const header = { model: "shop", version: 7, publishedAt: 1_795_262_400_000, config, actions: [{ id: "boots" }, { id: "ключ" }] };
const part = Uint8Array.of(9, 8, 7, 6);
const whole = await encode(header, [part]);
const refusal = (code: string, message: RegExp) => ({ name: "SnapshotError", code, message: expect.stringMatching(message) });

describe("a publication", () => {
  it("is read as it was written, wherever it lies in its buffer", async () => {
    expect(await readPublication(whole)).toEqual({ ...header, part });
    const shifted = new Uint8Array(whole.length + 11);
    shifted.set(whole, 5);
    expect(await readPublication(shifted.subarray(5, 5 + whole.length))).toEqual({ ...header, part });
  });

  it("has as its part a copy of the bytes that its header counts", async () => {
    const longer = await encode({ ...header, lengths: [3, 1] }, [part]);
    const read = await readPublication(longer);
    expect(read.part).toEqual(Uint8Array.of(9, 8, 7));
    longer.fill(0);
    expect(read.part).toEqual(Uint8Array.of(9, 8, 7));
  });

  it.each([0, 35])("of %d bytes is refused as truncated", async (bytes) => {
    await expect(readPublication(whole.slice(0, bytes))).rejects.toMatchObject(
      refusal("truncated", new RegExp(`expected a publication, got ${bytes} bytes`)),
    );
  });

  it.each([0, 31, 32, 40, whole.length - 1])("cut or altered at %d does not match its checksum", async (place) => {
    const altered = whole.slice();
    altered[place] ^= 1;
    for (const bytes of [altered, whole.slice(0, Math.max(36, place))]) {
      await expect(readPublication(bytes)).rejects.toMatchObject(refusal("checksum", /does not match its checksum/));
    }
  });

  it.each([
    ...[undefined, [], [3], [5], [4, 1], [4, -4, 4], [2.5, 1.5], ["4"], { length: 1 }].map((lengths) => [lengths]),
    [Array(100).fill([4, -4]).flat().concat(4)],
  ])("whose header counts other bytes than follow, %j, is refused before anything is copied", async (lengths) => {
    const altered = await encode({ ...header, lengths }, [part]);
    const copy = vi.spyOn(Uint8Array.prototype, "slice");
    await expect(readPublication(altered)).rejects.toMatchObject(refusal("malformed", /do not fit together/));
    expect(copy).not.toHaveBeenCalled();
    copy.mockRestore();
  });

  it.each(["{", "null", "7"])("with the header %s is refused", async (text) => {
    const bytes = new Uint8Array(36 + text.length);
    new DataView(bytes.buffer).setUint32(32, text.length);
    bytes.set(new TextEncoder().encode(text), 36);
    bytes.set(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes.subarray(32))));
    await expect(readPublication(bytes)).rejects.toMatchObject({ name: "SnapshotError" });
  });

  it.each([
    [{ format: 2 }, /format 2\.3 is none that this version reads: 1\.3/],
    [{ schema: 2 }, /format 1\.2 is none .*: 1\.3/],
    [{ format: 0 }, /format 0\.3 is none .*: 1\.3/],
  ])("of another version, %j, is refused as such", async (other, message) => {
    await expect(readPublication(await encode({ ...header, ...other }, [part]))).rejects.toMatchObject(refusal("version", message));
  });
});

describe("vectors without an encoder", () => {
  const vectors = (context: Features | undefined, ...features: (Features | undefined)[]) =>
    Array.from(
      matrixOf(
        featurizer(null).points(
          context,
          features.map((each, i) => ({ id: String(i), features: each })),
        ),
      ),
    );

  it("are the context's numbers, then the action's, action by action", () => {
    expect(vectors([0.5, 1], [2, 3], [4, 5])).toEqual([0.5, 1, 2, 3, 0.5, 1, 4, 5]);
    expect(vectors(undefined, [2], [4])).toEqual([2, 4]);
    expect(vectors([0.5], undefined, undefined)).toEqual([0.5, 0.5]);
  });

  it("are multiples of 2^-12, rounded towards zero, without a negative zero", () => {
    expect(vectors([0.3, -0.3, 1 / 4096, 1.9 / 4096, -1.9 / 4096], [])).toEqual([1228, -1228, 1, 1, -1].map((each) => each / 4096));
    expect(Object.is(vectors([-1e-9], [])[0], 0)).toBe(true);
  });

  it("refuse names", () => {
    const message = "expected an array of numbers, since the model has no encoder";
    expect(() => vectors({ country: "PT" }, [1])).toThrow(new TypeError(`context: ${message}`));
    expect(() => vectors([1], { kind: "boots" })).toThrow(new TypeError(`features of action 0: ${message}`));
  });
});

describe("vectors with an encoder", () => {
  const options = { dimension: 16, interactions: [["country", "id"]] as [string, string][] };

  it("are those of the encoder, with the action's id among its features", () => {
    const actions: { id: string; features?: NamedFeatures }[] = [{ id: "boots", features: { kind: "shoe" } }, { id: "hat" }];
    const { encode } = encoder(options);
    const expected = (context: NamedFeatures) =>
      actions.flatMap(({ id, features }) => Array.from(encode({ context, action: { ...features, id } })));
    const { points } = featurizer(options);
    expect(Array.from(matrixOf(points({ country: "PT" }, actions)))).toEqual(expected({ country: "PT" }));
    expect(Array.from(matrixOf(points(undefined, actions)))).toEqual(expected({}));
  });

  it("refuse numbers", () => {
    const message = "expected features by name, since the model has an encoder";
    const { points } = featurizer(options);
    expect(() => points([1], [{ id: "a" }])).toThrow(new TypeError(`context: ${message}`));
    expect(() => points({}, [{ id: "a", features: [1] }])).toThrow(new TypeError(`features of action a: ${message}`));
  });
});

describe("a list of actions that is prepared from its columns", () => {
  const options = { dimension: 32, numeric: { price: { min: 0, max: 9 } }, interactions: "all" as const };
  const actions = [
    { id: "boots", features: { kind: "shoe", price: 3 } },
    { id: "clogs", features: { kind: "shoe", price: 9 } },
    { id: "hat" },
  ];
  const columns = featurizer(options).columns(actions) as Uint8Array;

  it("has the vectors of the same list that is read, and its columns", () => {
    const prepared = featurizer(options);
    prepared.prepare(actions, columns);
    const [given, read] = [prepared, featurizer(options)].map(({ points }) => points({ country: "PT" }, actions));
    expect(matrixOf(given)).toEqual(matrixOf(read));
    expect(given).toMatchObject({ catalogue: { columns } });
  });

  it("makes the features of an action when its vector is asked for", () => {
    const reads: string[] = [];
    const watched = actions.map(({ id, features }) => ({
      id,
      get features() {
        reads.push(id);
        return features;
      },
    }));
    const { prepare, points } = featurizer(options);
    prepare(watched, columns);
    const given = points({ country: "PT" }, watched);
    expect(reads).toEqual([]);
    if (!(given instanceof Float64Array)) given.rows([1]);
    expect(new Set(reads)).toEqual(new Set(["clogs"]));
  });

  it.each([
    ["of another encoder", featurizer({ ...options, dimension: 64 }).columns(actions)],
    ["of other ranges", featurizer({ ...options, numeric: { price: { min: 0, max: 8 } } }).columns(actions)],
    ["of another list", featurizer(options).columns(actions.slice(1))],
    ["that are cut off", columns.subarray(0, 1000)],
    ["of another version", columns.with(0, columns[0] + 1)],
  ])("is read where there are columns %s", (_, other) => {
    const { prepare, points } = featurizer(options);
    prepare(actions, other as Uint8Array);
    expect(matrixOf(points({ country: "PT" }, actions))).toEqual(matrixOf(featurizer(options).points({ country: "PT" }, actions)));
  });

  it("has no columns without an encoder, or where some features are multiplied", () => {
    expect(featurizer(null).columns([{ id: "a", features: [1] }])).toBeUndefined();
    expect(featurizer({ ...options, interactions: [["country", "id"]] }).columns(actions)).toBeUndefined();
    expect(featurizer({ ...options, interactions: [] }).columns(actions)).toBeDefined();
  });
});
