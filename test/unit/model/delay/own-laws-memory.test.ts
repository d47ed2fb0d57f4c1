import { expect, it } from "vitest";
import { Delays } from "../../../../src/model/delay/delays.ts";
import { OwnLaws } from "../../../../src/model/delay/own-laws.ts";
import { stream } from "../../../support/scenario.ts";

/** Size of the laws in a snapshot, with a length for each section. */
function bytesOf(laws: OwnLaws): number {
  let bytes = 0;
  const numbers = (...arrays: readonly ArrayLike<number>[]): void => {
    for (const { length } of arrays) bytes += 8 * (1 + length);
  };
  laws.save({ numbers } as Parameters<OwnLaws["save"]>[0]);
  return bytes;
}

it("delays that differ by product take half a megabyte at most for 200 products", () => {
  const [dimension, window] = [256, { rounds: 16_384 }];
  const common = new Delays({ resolution: 1, cohort: 256, span: window.rounds });
  const laws = new OwnLaws(
    window,
    { dimension, from: 0, corrects: true },
    () => common.curve(0),
    () => 0,
  );
  const random = stream(2);
  let most = 0;
  for (let round = 1; round <= 24_000; round++) {
    const features = new Float64Array(dimension);
    features[Math.floor(200 * random())] = 1;
    laws.append(features, { round });
    if (random() < 0.05) laws.observe({ features, slot: 0, round }, 1, 1, undefined, { after: Math.floor(window.rounds * random() ** 3) });
    if (round % 6000 === 0) most = Math.max(most, bytesOf(laws));
  }
  expect(most).toBeGreaterThan(150_000);
  expect(most).toBeLessThan(500_000);
});
