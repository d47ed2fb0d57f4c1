import { expect, it } from "vitest";
import { SQUARED_EXPONENTIAL } from "../../../assembly/abi.ts";
import { CoreProcess } from "../../../src/core/core-process.ts";
import { freshCore } from "../../support/core.ts";

// A few numbers determine a smooth function at many points. The rest of its covariance is rounding, which no draw may show.

const K = 40;
const xs = Float64Array.from({ length: K }, (_, i) => i / K);

/** Column j of the covariance's factor: the contribution of the j-th standard normal. */
function column(j: number, variance: number): Float64Array {
  const { core } = freshCore();
  const handle = new CoreProcess(core, { kernel: SQUARED_EXPONENTIAL, variance, bias: 0, lengthscale: Float64Array.of(1) }, 0.25, 4);
  return handle.sample(xs, new Float64Array(K).with(j, 1), 1, 1).sample;
}

it.each([1e-6, 1, 1e6])("a pivot that is rounding beside a variance of %d has no column", (variance) => {
  const columns = Array.from({ length: K }, (_, j) => column(j, variance));
  const leastPivot = Math.sqrt(K * Number.EPSILON * variance);
  columns.forEach((each, j) => {
    if (each[j] === 0) expect(each.every((entry) => entry === 0)).toBe(true);
    else expect(each[j]).toBeGreaterThan(leastPivot);
  });
  // Eigenvalues fall by a factor of about a hundred each, so rounding begins at about the tenth.
  expect(columns.filter((each, j) => each[j] > 0).length).toBeLessThan(15);
});
