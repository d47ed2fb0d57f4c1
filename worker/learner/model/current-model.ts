import type { Featurizer } from "../../../src/publication/featurizer.ts";
import type { Timing } from "../../domain/impression/bucket.ts";
import { EncodingReport } from "../../domain/model/encoding.ts";
import { featurizer, type ModelConfig } from "../../domain/model/model.ts";
import { type Environment, graceMs } from "../../environment.ts";
import { unknownModel } from "../../protocol/problem.ts";
import type { LearnerStore } from "../store/learner-store.ts";
import { Admission } from "./admission.ts";
import { ClosedWindows } from "./closed-windows.ts";
import { LiveModel } from "./live-model.ts";
import { Shares } from "./shares.ts";

/** Objects made from one configuration. */
export interface Model {
  readonly config: ModelConfig;
  readonly timing: Timing;
  /** Makes feature vectors. Throws 409 if an earlier encoder made those that the model has learnt. */
  readonly featurize: () => Featurizer;
  readonly live: LiveModel;
  readonly admission: Admission;
  readonly report: EncodingReport;
  readonly closed: ClosedWindows;
}

/** Holds the objects of the stored configuration. A caller that has awaited gets them again, because the configuration may have changed. */
export class CurrentModel {
  readonly #env: Environment;
  readonly #store: LearnerStore;
  readonly shares: Shares;
  #model?: Model;

  constructor(env: Environment, store: LearnerStore) {
    this.#env = env;
    this.#store = store;
    this.shares = new Shares(() => store.transact(() => store.database.count("overShare")));
  }

  /** The objects of the stored configuration. After a change of configuration or a reset, they are made anew. @throws {Problem} 404 */
  get(): Model {
    if (!this.#store.exists) throw unknownModel();
    if (!this.#model?.live.isCurrent) {
      const { config } = this.#store;
      this.#model = {
        config,
        timing: { windowMs: config.window.ms, graceMs: graceMs(this.#env) },
        featurize: once(() => featurizer(config)),
        live: new LiveModel(this.#store, config),
        admission: new Admission(this.#store, config, this.shares),
        report: new EncodingReport(config),
        closed: new ClosedWindows(this.#store.impressions, config.window.ms),
      };
    }
    return this.#model;
  }
}

function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
