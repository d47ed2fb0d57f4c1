import type { Core } from "../../core/core.ts";
import type { Window } from "../delay/window.ts";
import { GaussianProcess } from "../gaussian-process/gaussian-process.ts";
import type { ParsedGaussianProcess } from "../gaussian-process/gaussian-process-settings.ts";
import { DelayedPosterior } from "./delayed-posterior.ts";

const deviationItself = (deviation: number): number => deviation;

/**
 * The delayed posterior of a Gaussian process. Fits of its hyper-parameters take pending impressions for rewards of zero
 * (`refit.pending`), or leave them out.
 */
export function refittedPosterior(
  core: Core,
  settings: ParsedGaussianProcess,
  window: Window,
  norms: "exact" | "buffered",
): DelayedPosterior<GaussianProcess> {
  const { refit } = settings;
  const options = { norms, measure: deviationItself, buffer: "before" } as const;
  if (refit?.pending) {
    const posterior = new GaussianProcess(core, settings);
    return new DelayedPosterior(posterior, window, { ...options, elapse: () => void posterior.elapse() });
  }
  const posterior = new GaussianProcess(core, { ...settings, refit: null });
  if (!refit) return new DelayedPosterior(posterior, window, options);
  const evidence = new GaussianProcess(core, settings);
  const elapse = (): void => {
    if (evidence.elapse()) posterior.adopt(evidence.hyperparameters);
  };
  return new DelayedPosterior(posterior, window, { ...options, evidence, elapse });
}
