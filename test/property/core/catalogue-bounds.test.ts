import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { CoreActions } from "../../../src/core/core-draws.ts";
import { encoder } from "../../../src/encoding/encoder.ts";
import { freshCore, stageOf } from "../../support/core.ts";

// The core reads nothing outside the columns of a catalogue, whatever list of actions and whatever context it is given.

const D = 16;
const ROOM = 64;
const among = (count: number, dimension = D) =>
  encoder({ dimension, interactions: "all" }).among(
    Array.from({ length: count }, (_, i) => ({ id: `sku-${i}`, brand: `brand-${i % 3}`, price: "low" })),
  )({ country: "PT", device: "phone" });

const actions = among(5) as CoreActions & { readonly catalogue: object; readonly context: Uint8Array };

/** The context with a 32-bit number at a place in it. */
function contextWith(at: number, word: number): Uint8Array {
  const context = actions.context.slice();
  new DataView(context.buffer).setUint32(at, word, true);
  return context;
}

/** A core with rows of a posterior, and its three ways to read a list. */
function readers() {
  const { core } = freshCore();
  const handle = core.ridgeCreate(D, 0.5);
  core.draws.draw(handle, core.normals(1, "draws", 3 * D));
  core.draws.rows(handle, 3, 1, ROOM);
  const stages = [stageOf(handle)];
  const parameter = core.normals(2, "parameter", D);
  return {
    products: (list: CoreActions) => core.draws.products(list, parameter),
    scores: (list: CoreActions) => core.draws.scores(stages, list, 6),
    lists: (list: CoreActions) => Int32Array.from(core.draws.lists(stages, list, 6, 2)),
  };
}

const OTHERS: readonly (readonly [what: string, list: CoreActions])[] = [
  ["a pick behind the last action", { ...actions, picks: Uint32Array.of(4, 5), count: 2 }],
  ["a pick far away", { ...actions, picks: Uint32Array.of(0xffffffff), count: 1 }],
  ["a negative pick", { ...actions, picks: [0, -1] as unknown as Uint32Array, count: 2 }],
  ["fewer picks than actions", { ...actions, picks: Uint32Array.of(1, 2), count: 3 }],
  ["more picks than actions", { ...actions, picks: Uint32Array.of(1, 2), count: 1 }],
  ["more actions than the columns have", { ...actions, count: 6 }],
  ["no context", { ...actions, context: new Uint8Array(0) }],
  ["a context without its last term", { ...actions, context: actions.context.slice(0, -24) }],
  ["a context with half a term", { ...actions, context: actions.context.slice(0, -12) }],
  ["a context with bytes behind its terms", { ...actions, context: new Uint8Array([...actions.context, ...new Uint8Array(24)]) }],
  ["a count of terms that wraps", { ...actions, context: contextWith(0, 2 ** 31 + actions.context[0]) }],
  ["a term behind the last component", { ...actions, context: contextWith(16, D) }],
  ["a term far away", { ...actions, context: contextWith(16 + 24, 0xffffffff) }],
];

describe.each(["products", "scores", "lists"] as const)("%s", (name) => {
  it.each(OTHERS)("refuse %s, and read the list as before", (_, list) => {
    const read = readers()[name];
    const before = read(actions);
    expect(() => read(list)).toThrow(RangeError);
    expect(read(actions)).toEqual(before);
  });

  it("refuse the columns of another dimension", () => {
    expect(() => readers()[name](among(5, 2 * D))).toThrow(RangeError);
    expect(() => readers()[name](among(5, D / 2))).toThrow(RangeError);
  });

  it("read the terms of any context that are components, and refuse it otherwise", () => {
    const read = readers()[name];
    const mutation = fc.record({ at: fc.nat(actions.context.length - 1), byte: fc.nat(255) });
    fc.assert(
      fc.property(fc.array(mutation, { minLength: 1, maxLength: 4 }), (mutations) => {
        const context = actions.context.slice();
        for (const { at, byte } of mutations) context[at] = byte;
        const view = new DataView(context.buffer);
        const places = Array.from({ length: (context.length - 16) / 24 }, (_, i) => view.getUint32(16 + 24 * i, true));
        const fits = view.getUint32(0, true) === places.length && places.every((place) => place < D);
        const list = { ...actions, context };
        if (fits) expect(read(list).length).toBeGreaterThan(0);
        else expect(() => read(list)).toThrow(RangeError);
      }),
      { numRuns: 300 },
    );
  });
});

it.each(["scores", "lists"] as const)("%s refuse a catalogue for whose sums the posterior has no room", (name) => {
  const many = among(5000) as CoreActions;
  const { core } = freshCore();
  const handle = core.ridgeCreate(D, 0.5);
  core.draws.draw(handle, core.normals(1, "draws", 3 * D));
  const read = (list: CoreActions) => core.draws[name]([stageOf(handle)], list, 6, 1);
  const { tableRows } = many.catalogue as unknown as { readonly tableRows: number };
  core.draws.rows(handle, 3, 1, tableRows - 1);
  expect(() => read(many)).toThrow(RangeError);
  core.draws.rows(handle, 3, 1, tableRows);
  expect(read(many).length).toBeGreaterThan(0);
});
