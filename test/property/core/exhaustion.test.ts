import { expect, it } from "vitest";
import { LINEAR, SQUARED_EXPONENTIAL } from "../../../assembly/abi.ts";
import type { Core } from "../../../src/core/core.ts";
import { CoreProcess } from "../../../src/core/core-process.ts";
import type { CoreExports } from "../../../src/core/exports.ts";
import { encoder } from "../../../src/encoding/encoder.ts";
import { freshCore, smallCore, stageOf } from "../../support/core.ts";

// If memory cannot grow, a call reports this. It succeeds as soon as there is room.

/** Room for the arguments and results of every call below. */
const PLACE = 20_000;
const STEP = 1024;
const values = (count: number): Float64Array => Float64Array.from({ length: count }, (_, i) => ((7 * i) % 13) / 13);

/** Takes all memory except pieces that are freed one by one. */
function exhaust({ allocate, release }: CoreExports, pieces: number): () => boolean {
  const kept = Array.from({ length: pieces }, () => allocate(STEP - 16));
  for (let size = 2 ** 31; size >= 16; ) if (allocate(size) === 0) size /= 2;
  return () => {
    const piece = kept.pop();
    if (piece !== undefined) release(piece);
    return piece !== undefined;
  };
}

/** A call of a process with four rows that watches candidates. */
function drawing(core: Core, call: (handle: CoreProcess) => unknown): () => unknown {
  const handle = new CoreProcess(core, { kernel: SQUARED_EXPONENTIAL, variance: 1, bias: 0, lengthscale: Float64Array.of(1) }, 0.25, 4);
  for (let i = 0; i < 4; i++) handle.append(Float64Array.of(i / 2));
  handle.watch(xs);
  return () => call(handle);
}

const { among } = encoder({ dimension: 40, interactions: "all" });
const xs = values(40).map((_, i) => i / 4);
const places = Float64Array.of(0, 2, 4, 6);

/** Doubles that the call needs besides its arguments and results. */
const calls: Record<string, [needed: number, call: (core: Core) => () => unknown]> = {
  "a joint draw": [2 * 820, (core) => drawing(core, (handle) => handle.sample(xs, values(40), 1, 1))],
  "candidates that may be chosen": [16 * 4, (core) => drawing(core, (handle) => handle.contenders(xs, 1, 1))],
  "a covariance": [820, (core) => drawing(core, (handle) => handle.covariance(xs))],
  "a pathwise draw": [2 * 820, (core) => drawing(core, (handle) => handle.sampleWatched(xs, places, values(80), 1, 1))],
  "the watched candidates' scores": [
    40 * 4,
    (core) =>
      drawing(core, (handle) => {
        const [mean, deviation] = [new Float64Array(40), new Float64Array(40)];
        handle.scoreWatched(mean, deviation);
        return { mean, deviation };
      }),
  ],
  "a row beyond the room": [4 * 4, (core) => drawing(core, (handle) => [handle.append(Float64Array.of(9)), handle.score(xs)])],
  "a kernel matrix of many features": [
    40,
    (core) => () => core.kernelMatrix({ kernel: LINEAR, variance: 1, bias: 0, lengthscale: values(40).fill(1) }, xs, xs),
  ],
  "a ridge posterior": [2 * 820, (core) => () => core.ridgeEstimate(core.ridgeCreate(40, 1))],
  "a ridge posterior's new factor": [
    820,
    (core) => {
      const handle = core.ridgeCreate(40, 1);
      core.ridgeAppend(handle, xs);
      return () => [core.ridgeRefactor(handle), core.ridgeState(handle).factor.slice()];
    },
  ],
  "a ridge posterior's prior, and its factor": [
    2 * 820,
    (core) => {
      const handle = core.ridgeCreate(40, 1);
      const precision = new Float64Array(820);
      for (let i = 0; i < 40; i++) precision[((i + 1) * (i + 2)) / 2 - 1] = 2 + i;
      core.ridgeAppend(handle, xs);
      return () => [core.ridgeSetPrior(handle, precision), core.ridgeRefactor(handle), core.ridgeState(handle).factor.slice()];
    },
  ],
  "draws of a ridge posterior, and scores": [
    40 * 8 + 40 * 26,
    (core) => {
      const handle = core.ridgeCreate(40, 1);
      const candidates = { count: 10, points: values(400) };
      return () => [
        core.draws.draw(handle, values(320)),
        core.draws.rows(handle, 8, 1, 0),
        core.draws.scores([stageOf(handle)], candidates, 16),
        core.draws.lists([stageOf(handle)], candidates, 16, 3),
      ];
    },
  ],
  "products of encoded actions": [
    2048,
    (core) => {
      const actions = among([{ brand: "Acme" }, { brand: "Apex" }])({ country: "PT" });
      return () => core.draws.products(actions, values(40));
    },
  ],
  "a ridge solved from its sums": [820, (core) => () => core.shrunkSolve(new Float64Array(820), 1, values(40), 1)],
};

it.each(Object.entries(calls))("refuses %s until there is room, and then gives it", (_, [needed, call]) => {
  const expected = call(freshCore().core)();
  const { core, exports } = freshCore(smallCore);
  core.kernelMatrix({ kernel: LINEAR, variance: 1, bias: 0, lengthscale: Float64Array.of(1) }, values(PLACE / 4), Float64Array.of(1));
  const act = call(core);
  const refill = exhaust(exports, 60);
  // The module's initial pages hold no block.
  const fixed = new Uint8Array(exports.memory.buffer, 0, 65_536).slice();
  let room = 0;
  let result: unknown;
  while (result === undefined) {
    try {
      result = act();
    } catch (error) {
      expect(error).toMatchObject({ code: "out-of-memory" });
      expect(refill()).toBe(true);
      room += STEP;
    }
  }
  expect(room).toBeGreaterThan(8 * needed);
  expect(result).toEqual(expected);
  expect(Buffer.compare(new Uint8Array(exports.memory.buffer, 0, 65_536), fixed)).toBe(0);
});
