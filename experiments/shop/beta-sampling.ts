import { randomBeta } from "d3-random";
import type { Stream } from "../../src/simulation/stream.ts";
import type { Learner } from "./learner.ts";

/** Thompson sampling with a Beta(1, 1) prior for each product. It sees no features. */
export function betaSampling(products: number, random: Stream): Learner {
  const failures = new Float64Array(products).fill(1);
  const successes = new Float64Array(products).fill(1);
  const shown = new Map<string, number>();
  const beta = randomBeta.source(random);
  return {
    choose() {
      let best = { index: 0, score: -1 };
      for (let index = 0; index < products; index++) {
        const score = beta(successes[index], failures[index])();
        if (score > best.score) best = { index, score };
      }
      return best.index;
    },
    show(id, { index }) {
      failures[index]++;
      shown.set(id, index);
    },
    convert(id) {
      const index = shown.get(id) as number;
      failures[index]--;
      successes[index]++;
    },
  };
}
