import fc from "fast-check";
import { expect, it } from "vitest";
import type { Core } from "../../../src/core/core.ts";
import type { RidgeHandle } from "../../../src/core/ridge-handle.ts";
import { freshCore } from "../../support/core.ts";

// The core adds impressions to the factor of a ridge posterior when the factor is read. When it is read changes no bit.

/** Impressions whose squares all queues together hold fewer of: at 1,800 features, 13. */
const SIZES: [number, number][] = [
  [1, 40],
  [5, 60],
  [129, 40],
  [1800, 26],
];

/** Features of which some are 0: few, or most. */
function features(d: number, row: number): Float64Array {
  const gap = 1 + (row % 7);
  return Float64Array.from({ length: d }, (_, i) => ((i * 13 + row) % gap === 0 ? (((i + 1) * (row + 3)) % 17) / 8 - 1 : 0));
}

type Read = (core: Core, handle: RidgeHandle, x: Float64Array) => unknown;
const reads: Read[] = [
  () => {},
  (core, handle) => core.ridgeEstimate(handle),
  (core, handle, x) => core.ridgeWidth(handle, x),
  (core, handle, x) => core.draws.draw(handle, x),
  (core, handle, x) => core.ridgeSampleScores(handle, x, x, 1),
  (core, handle) => core.ridgeState(handle),
  (core, handle) => core.ridgeSums(handle),
];

it.each(SIZES)("keeps the bits of %d features, whoever reads in between", (d, count) => {
  const { core } = freshCore();
  const silent = core.ridgeCreate(d, 0.5);
  for (let row = 0; row < count; row++) {
    core.ridgeAppend(silent, features(d, row));
    core.ridgeReward(silent, features(d, row), row / 8);
  }
  const expected = Float64Array.of(...core.ridgeEstimate(silent));
  const { gram, factor } = core.ridgeState(silent);
  const [sums, root] = [gram.slice(), factor.slice()];
  core.ridgeRelease(silent);
  const choices = fc.array(fc.nat({ max: reads.length - 1 }), { minLength: count, maxLength: count });
  fc.assert(
    fc.property(choices, (chosen) => {
      const handle = core.ridgeCreate(d, 0.5);
      chosen.forEach((read, row) => {
        const x = features(d, row);
        core.ridgeAppend(handle, x);
        core.ridgeReward(handle, x, row / 8);
        reads[read](core, handle, x);
      });
      expect(core.ridgeEstimate(handle)).toEqual(expected);
      expect(core.ridgeState(handle).gram).toEqual(sums);
      expect(core.ridgeState(handle).factor).toEqual(root);
      core.ridgeRelease(handle);
    }),
    { numRuns: d > 1000 ? 3 : 20 },
  );
});

it("forgets waiting impressions when the state is replaced, or the factor made anew", () => {
  const { core } = freshCore();
  const [a, b] = [core.ridgeCreate(3, 1), core.ridgeCreate(3, 1)];
  const empty = core.ridgeState(b);
  const state = { gram: empty.gram.slice(), moment: empty.moment.slice(), factor: empty.factor.slice() };
  core.ridgeAppend(a, Float64Array.of(1, 0, 2));
  core.ridgeLoad(a, state);
  expect(core.ridgeState(a).factor).toEqual(state.factor);
  for (const handle of [a, b]) core.ridgeAppend(handle, Float64Array.of(0, 2, 1));
  for (const handle of [a, b]) core.ridgeRefactor(handle);
  expect(core.ridgeState(a).factor).toEqual(core.ridgeState(b).factor.slice());
});
