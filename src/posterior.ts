import { compileCore } from "#core-module";
import { instantiate } from "./core/core.ts";
import { GaussianProcess } from "./model/gaussian-process/gaussian-process.ts";
import { type GaussianProcessSettings, parseGaussianProcess } from "./model/gaussian-process/gaussian-process-settings.ts";
import { record } from "./values/argument.ts";

/**
 * A Gaussian process without a policy, for research. The policies use the same class.
 *
 * @throws {TypeError | RangeError} naming the option.
 */
export async function gaussianProcess(
  options: GaussianProcessSettings & { readonly module?: WebAssembly.Module },
): Promise<GaussianProcess> {
  const { module, ...settings } = record("options", options) as unknown as typeof options;
  const parsed = parseGaussianProcess(settings);
  return new GaussianProcess(await instantiate(module ?? (await compileCore())), parsed);
}
