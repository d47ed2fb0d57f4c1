import { expect, it } from "vitest";
import { BernoulliPosterior } from "../../../../src/model/gaussian-process/bernoulli-posterior.ts";
import { parseDelayAware } from "../../../../src/model/gaussian-process/delay-aware-settings.ts";
import { freshCore } from "../../../support/core.ts";

// The prediction for a domain is computed once for each change.

it("a posterior of rates gives the same object for its domain until something changes", () => {
  const points = [[0], [0.5], [1]];
  const posterior = new BernoulliPosterior(freshCore().core, parseDelayAware({ domain: { points }, rewards: "bernoulli" }, 2), "none");
  const domain = posterior.domain?.points as Float64Array;
  const features = Float64Array.of(0.5);
  const seen = [posterior.predict(domain)];
  const changes = [
    () => void posterior.append(features, { round: 1 }),
    () => posterior.observe({ round: 1, features, slot: 0 }, 1, undefined),
    () => posterior.observe({ round: 1, features, slot: 0 }, 0.25, 1),
    () => posterior.refactor(),
  ];
  for (const change of changes) {
    expect(posterior.predict(domain)).toBe(seen.at(-1));
    // A copy of the points is scored, to the same bits.
    expect(posterior.predict(domain.slice())).toEqual(seen.at(-1));
    expect(posterior.predict(domain)).toBe(seen.at(-1));
    change();
    const next = posterior.predict(domain);
    expect(seen).not.toContain(next);
    seen.push(next);
  }
  const means = seen.map(({ mean }) => mean[1]);
  expect(means[1]).toBeLessThan(means[0]);
  expect(means[2]).toBeGreaterThan(means[1]);
  expect(means[3]).toBeLessThan(means[2]);
});
