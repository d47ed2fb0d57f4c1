import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { CoreExports } from "../../../src/core/exports.ts";
import { freshCore } from "../../support/core.ts";

// Tests the core's memory under any sequence of allocations and releases. Each block is filled with its own number.

interface Block {
  readonly start: number;
  readonly bytes: number;
  readonly fill: number;
}

const size = fc.oneof(
  fc.integer({ min: 0, max: 100 }),
  fc.integer({ min: 0, max: 3000 }),
  fc.constantFrom(16, 32, 48, 4080, 65_504, 65_520, 200_000),
);
const step = fc.oneof(
  { weight: 5, arbitrary: size.map((bytes) => ({ bytes })) },
  { weight: 4, arbitrary: fc.nat().map((pick) => ({ pick })) },
);

class Heap {
  readonly #exports: CoreExports;
  readonly live: Block[] = [];
  #fill = 0;

  constructor(exports: CoreExports) {
    this.#exports = exports;
  }

  #view({ start, bytes }: Block): Uint8Array {
    return new Uint8Array(this.#exports.memory.buffer, start, bytes);
  }

  allocate(bytes: number): void {
    const start = this.#exports.allocate(bytes) >>> 0;
    this.#fill = (this.#fill % 251) + 1;
    const block = { start, bytes, fill: this.#fill };
    expect(start).toBeGreaterThan(0);
    expect(start % 16).toBe(0);
    expect(start + bytes).toBeLessThanOrEqual(this.#exports.memory.buffer.byteLength);
    for (const other of this.live) expect(start >= other.start + other.bytes || start + bytes <= other.start).toBe(true);
    this.#view(block).fill(block.fill);
    this.live.push(block);
  }

  release(pick: number): void {
    if (this.live.length === 0) return;
    const [block] = this.live.splice(pick % this.live.length, 1);
    expect(this.#view(block).every((byte) => byte === block.fill)).toBe(true);
    this.#exports.release(block.start);
  }

  take(each: { readonly bytes: number } | { readonly pick: number }): void {
    if ("bytes" in each) this.allocate(each.bytes);
    else this.release(each.pick);
  }

  releaseAll(pick: number): void {
    while (this.live.length > 0) this.release(pick);
  }
}

describe("the core's memory", () => {
  it("gives aligned blocks that are apart and keep what is written into them", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), fc.nat(), (steps, pick) => {
        const heap = new Heap(freshCore().exports);
        for (const each of steps) heap.take(each);
        heap.releaseAll(pick);
      }),
      { numRuns: 150 },
    );
  });

  it("serves the same sequence again from what was released", () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 60 }), fc.nat(), (steps, pick) => {
        const { exports } = freshCore();
        const heap = new Heap(exports);
        for (const each of steps) heap.take(each);
        heap.releaseAll(pick);
        const { byteLength } = exports.memory.buffer;
        for (const each of steps) heap.take(each);
        heap.releaseAll(pick);
        expect(exports.memory.buffer.byteLength).toBe(byteLength);
      }),
      { numRuns: 60 },
    );
  });

  it("is one piece again once everything is released, in whatever order", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 4000 }), { minLength: 2, maxLength: 40 }), fc.nat(), (sizes, pick) => {
        const { exports } = freshCore();
        const whole = 100_000 + sizes.reduce((sum, bytes) => sum + bytes, 0);
        exports.release(exports.allocate(whole));
        const { byteLength } = exports.memory.buffer;
        const heap = new Heap(exports);
        for (const bytes of sizes) heap.allocate(bytes);
        heap.releaseAll(pick);
        heap.allocate(whole);
        expect(exports.memory.buffer.byteLength).toBe(byteLength);
      }),
      { numRuns: 60 },
    );
  });

  it("asks the host seldom while it grows by little: half as much again each time", () => {
    const { exports } = freshCore();
    const sizes = new Set<number>();
    for (let block = 0; block < 400; block++) {
      expect(exports.allocate(65_536)).not.toBe(0);
      sizes.add(exports.memory.buffer.byteLength);
    }
    // 400 blocks need about 15 growths by half, or 400 growths by one page.
    expect(sizes.size).toBeLessThan(25);
    expect(exports.memory.buffer.byteLength).toBeLessThan(2 * 401 * 65_552);
  });

  it("takes no block that 32 bits cannot address", () => {
    const { exports } = freshCore();
    for (const bytes of [-1, -16, -32, -33]) expect(exports.allocate(bytes)).toBe(0);
  });
});
