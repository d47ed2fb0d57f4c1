import { otfLinTs, otfLinUcb, policies, Recommender, SnapshotError } from "afterclick";
import { beforeAll, describe, expect, it } from "vitest";

let recommender: Recommender;
let bytes: Uint8Array;

beforeAll(async () => {
  recommender = await Recommender.create({ policy: otfLinUcb({ dimension: 3 }), window: { ms: 1000 } });
  for (let i = 0; i < 6; i++) {
    const { action } = recommender.recommend({ candidates: [{ features: [1, 0, i / 8] }, { features: [0, 1, i / 4] }], now: 100 * i });
    recommender.convert({ impressionId: action.impressionId, reward: 1, at: 100 * i + 50 });
  }
  bytes = recommender.snapshot();
});

const codeOf = async (changed: Uint8Array, known: typeof policies = policies): Promise<string> => {
  const error = await Recommender.restore(changed, { policies: known }).catch((caught) => caught);
  expect(error).toBeInstanceOf(SnapshotError);
  return error.code;
};

function changed(change: (view: DataView, copy: Uint8Array) => void): Uint8Array {
  const copy = bytes.slice();
  change(new DataView(copy.buffer), copy);
  return copy;
}

describe("a snapshot", () => {
  it("restores to itself", async () => {
    const restored = await Recommender.restore(bytes, { policies: [otfLinUcb] });
    expect(restored.snapshot()).toEqual(bytes);
  });

  it.each([0, 1, 4])("restores from a Buffer inside another one, %d bytes after a multiple of 8", async (offset) => {
    const buffer = Buffer.from(new ArrayBuffer(bytes.length + 8), offset, bytes.length);
    buffer.set(bytes);
    const restored = await Recommender.restore(buffer, { policies: [otfLinUcb] });
    expect(restored.snapshot()).toEqual(bytes);
    buffer.fill(0);
    expect(restored.snapshot()).toEqual(bytes);
  });

  it("is refused when it is not bytes", async () => {
    await expect(Recommender.restore("text" as never, { policies })).rejects.toThrow(/^bytes: expected a Uint8Array, got "text"/);
    await expect(Recommender.restore(bytes, {} as never)).rejects.toThrow(/policies/);
  });
});

describe.each(["snapshot", "publication"] as const)("a %s", (kind) => {
  beforeAll(() => {
    bytes = recommender[kind]();
  });

  it("has one error per field of its header", async () => {
    expect(await codeOf(changed((view) => view.setUint32(0, 1)))).toBe("magic");
    expect(await codeOf(changed((view) => view.setUint32(4, 3, true)))).toBe("version");
    expect(await codeOf(changed((view) => view.setFloat64(48, 8, true)))).toBe("truncated");
    expect(await codeOf(changed((view) => view.setUint8(56, view.getUint8(56) ^ 1)))).toBe("checksum");
    expect(await codeOf(bytes, [otfLinTs])).toBe("policy");
    expect(await codeOf(bytes, [])).toBe("policy");
    const later = Object.assign(() => ({ ...otfLinUcb({ dimension: 3 }), stateVersion: 99 }), { id: "otf-lin-ucb" });
    expect(await codeOf(bytes, [later])).toBe("state-version");
  });

  it("is refused when cut short, at any length", async () => {
    for (let length = 0; length < bytes.length; length += length < 72 ? 7 : 31)
      expect(await codeOf(bytes.slice(0, length))).toBe("truncated");
    expect(await codeOf(Uint8Array.from([...bytes, 0]))).toBe("truncated");
  });

  it("is refused with any byte flipped", async () => {
    for (let at = 0; at < bytes.length; at += at < 72 ? 1 : 23) {
      expect(["magic", "version", "truncated", "checksum"]).toContain(
        await codeOf(
          changed((_, copy) => {
            copy[at] ^= 1 << (at % 8);
          }),
        ),
      );
    }
  });
});
