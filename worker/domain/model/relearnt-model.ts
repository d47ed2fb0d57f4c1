import type { ModelBody } from "../../protocol/schema.ts";
import { acceptable, configureModel, isSequential, type ModelConfig, modelConfig, renewed } from "./model.ts";
import { differences, wholeEncoder, withStored } from "./reconfiguration.ts";

/**
 * The configuration under which a model learns its log again. Options that the body leaves out keep their stored values, except those of
 * another policy.
 * @throws {Problem} 422 as `configureModel`.
 */
export async function relearntModel(body: Partial<ModelBody>, stored: ModelConfig): Promise<ModelConfig> {
  const { policy: _, options: __, ...rest } = stored;
  const asked = { window: stored.window, ...body };
  const before = body.encoder ? withoutDefaults(stored) : stored;
  const whole =
    asked.policy !== undefined && asked.policy !== stored.policy
      ? { ...rest, encoder: asked.options?.domain ? null : wholeEncoder(rest.encoder), ...onlyServing(asked.policy), ...asked }
      : withStored(asked, before);
  return configureModel(acceptable(() => renewed(whole as unknown as ModelConfig)) as unknown as ModelBody);
}

/** How a policy that decides in sequence is served. */
const onlyServing = (policy: string) => (isSequential({ policy }) ? { serving: "learner" } : {});

/** A configuration without the options that have their defaults, because some of these follow from its encoder. */
function withoutDefaults(config: ModelConfig): ModelConfig {
  const shadows = config.shadows.map((shadow) => ({ ...shadow, options: named(shadow, config) }));
  return { ...config, options: named(config, config), shadows };
}

function named({ policy, options }: Pick<ModelConfig, "policy" | "options">, config: ModelConfig): object {
  const isNamed = ([name, value]: [string, unknown]): boolean => {
    if (name === "dimension") return false;
    const { [name]: _, ...others } = options as Record<string, unknown>;
    try {
      const { options: own } = modelConfig({ ...config, policy, options: others } as unknown as ModelBody);
      return differences((own as Record<string, unknown>)[name], value).length > 0;
    } catch {
      return true;
    }
  };
  return Object.fromEntries(Object.entries(options).filter(isNamed));
}
