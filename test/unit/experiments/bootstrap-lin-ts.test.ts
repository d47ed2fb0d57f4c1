import { expect, it } from "vitest";
import { bootstrapLinTs, fitted, type Sample } from "../../../experiments/beyond/bootstrap-lin-ts.ts";
import { world } from "../../../experiments/vernade.ts";
import { geometric } from "../../../src/simulation/delay-law.ts";
import { stream } from "../../../src/simulation/stream.ts";
import { converting, play } from "../../../src/simulation/world.ts";

const MEAN = 60;
const WINDOW = 6 * MEAN;

/**
 * Impressions of two actions, (1, 0) and (0, 1). The first has been shown for one mean delay, the second for six. A conversion has
 * come if its geometric delay is at most the age.
 */
function impressions([first, second]: readonly [number, number], count: number): Sample {
  const random = stream("bootstrap", first, second);
  const law = geometric(MEAN);
  const sample: Sample = {
    features: new Float64Array(2 * count),
    counts: new Float64Array(count).fill(1),
    times: new Int32Array(count),
    converted: new Uint8Array(count),
  };
  for (let i = 0; i < count; i++) {
    const action = i % 2;
    const [age, delay] = [random.below((action === 0 ? MEAN : WINDOW) + 1), law.draw(random)];
    sample.features[2 * i + action] = 1;
    sample.converted[i] = Number(random() < [first, second][action] && delay <= age);
    sample.times[i] = sample.converted[i] ? delay : age;
  }
  return sample;
}

it("finds the better action, although fewer of its conversions have come", () => {
  const sample = impressions([0.4, 0.3], 20_000);
  const came = [0, 0];
  sample.converted.forEach((each, i) => {
    came[i % 2] += each / 10_000;
  });
  expect(came[0]).toBeLessThan(0.6 * came[1]);
  const found = fitted(sample, 2, WINDOW);
  expect(Math.abs(found[0] / found[1] - 4 / 3)).toBeLessThan(0.1);
});

it("loses less than half of what a random choice loses, under delays", () => {
  const lost = (player: Parameters<typeof play>[0]): number => {
    const played = converting(world(600, geometric(30), ["bootstrap test"]));
    return play(player, played, { offset: 0, window: 200 }).reduce((sum, each) => sum + each, 0);
  };
  const random = stream("bootstrap uniform");
  const own = bootstrapLinTs({ dimension: 5, window: 200 }, stream("bootstrap test"));
  const uniform = { ...bootstrapLinTs({ dimension: 5, window: 200 }, random), choose: () => [{ index: random.below(10) }] };
  expect(lost(own)).toBeLessThan(lost(uniform) / 2);
});
