import type { PolicyFactory } from "../policy/rule.ts";
import { policies } from "../policy/table.ts";
import { onlyKeys, record, wrongType } from "../values/argument.ts";
import { type Host, type ModelOptions, NamedModel } from "./named-model.ts";

/** Policies and the core, if a program brings its own. */
interface ModelHost {
  /** Factories of your own, which come before those of `afterclick`. */
  readonly policies?: readonly PolicyFactory[];
  /** A compiled core.wasm, for hosts that load it themselves. */
  readonly module?: WebAssembly.Module;
}

function withOwn(host: ModelHost = {}): Host {
  onlyKeys("host", record("host", host), ["policies", "module"]);
  const { policies: own = [], module } = host;
  if (!Array.isArray(own)) throw wrongType("host.policies", "an array of policy factories", own);
  return { policies: [...own, ...policies], module };
}

/** A recommender of actions with named features, with a catalogue, and with the defaults of a worker's model. */
export type Model = NamedModel;

/** Makes models. A model needs no dimension and no encoder: it learns from named features and all their interactions. */
export const Model = {
  /**
   * Creates a model without impressions.
   *
   * @example
   * const model = await Model.create({ window: { ms: 7 * 86_400_000 }, actions: [{ id: "boots", features: { brand: "Acme" } }, { id: "hat" }] });
   * const { actions } = model.recommend({ context: { country: "PT" }, limit: 2, now: 1_700_000_000_000 });
   * model.convert({ impressionId: actions[0].impressionId, at: 1_700_000_100_000 });
   * @throws {TypeError | RangeError} naming the option.
   */
  create: async (options: ModelOptions, host?: ModelHost): Promise<Model> => NamedModel.create(options, withOwn(host)),

  /**
   * Restores a model from its snapshot, which holds encoder, options and catalogue. Its decisions are identical to those of the original.
   *
   * @throws {SnapshotError} as `Recommender.restore`; code `version` also for features of another version of the encoder, `no-model` for the
   * snapshot of a `Recommender`.
   */
  restore: async (bytes: Uint8Array, host?: ModelHost): Promise<Model> => NamedModel.restore(bytes, withOwn(host)),
};
