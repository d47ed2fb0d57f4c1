import { Problem } from "../../protocol/problem.ts";
import type { ModelBody } from "../../protocol/schema.ts";
import { acceptable, configureModel, type ModelConfig, renewed } from "./model.ts";
import { wholeEncoder, withStored } from "./reconfiguration.ts";

/**
 * The configuration under which a model learns its log again. Options that the body leaves out keep their stored values, except those of
 * another policy.
 * @throws {Problem} 422 as `configureModel`, or if the window is another one.
 */
export async function relearntModel(body: Partial<ModelBody>, stored: ModelConfig): Promise<ModelConfig> {
  const { policy: _, options: __, ...rest } = stored;
  const asked = { window: stored.window, ...body };
  const before = body.encoder ? withoutDimension(stored) : stored;
  const whole =
    asked.policy !== undefined && asked.policy !== stored.policy
      ? { ...rest, encoder: wholeEncoder(rest.encoder), ...asked }
      : withStored(asked, before);
  if (whole.window.ms !== stored.window.ms) {
    throw new Problem(
      422,
      "window: expected the stored one, as impressions were closed by it; for another window import the log into a new model",
    );
  }
  return configureModel(acceptable(() => renewed(whole as unknown as ModelConfig)) as unknown as ModelBody);
}

/** A configuration without the options that follow from its encoder. */
function withoutDimension(config: ModelConfig): ModelConfig {
  const without = (options: object) => {
    const { dimension: _, delayComponents: __, ...rest } = options as Record<string, unknown>;
    return rest;
  };
  const shadows = config.shadows.map((shadow) => ({ ...shadow, options: without(shadow.options) }));
  return { ...config, options: without(config.options), shadows };
}
