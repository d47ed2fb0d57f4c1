import type { GaussianProcess } from "../gaussian-process/gaussian-process.ts";
import { type AppendedImpression, stateOf } from "../posterior.ts";

/**
 * The state of a Gaussian process that counts an impression only once it has converted. Pending impressions are ignored.
 *
 * Rows are in order of conversion, and the state depends on this order: below capacity by rounding only, at capacity in substance.
 * **Source:** Verma et al. 2022, section 6, the baselines GP-UCB and asy-TS.
 */
export function arrivedPosterior(process: GaussianProcess) {
  return {
    ...stateOf(process),
    contenders: (...request: Parameters<GaussianProcess["contenders"]>) => process.contenders(...request),
    sample: (...request: Parameters<GaussianProcess["sample"]>) => process.sample(...request),
    append(): number {
      process.elapse();
      return 0;
    },
    observe({ features }: AppendedImpression, reward: number, previous: number | undefined): void {
      const slot = previous === undefined ? process.append(features) : process.locate(features);
      process.reward({ features, slot }, reward, previous ?? 0);
    },
  };
}
