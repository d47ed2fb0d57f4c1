// Holds the model of a learner, and makes objects of its configuration once for each version of it.

import type { Featurizer } from "afterclick/research";
import type { Timing } from "../../domain/impression/bucket.ts";
import { EncodingReport } from "../../domain/model/encoding.ts";
import { featurizer, type ModelConfig } from "../../domain/model/model.ts";
import { type Environment, graceMs } from "../../environment.ts";
import type { LearnerStore } from "../store/learner-store.ts";
import type { ModelState } from "../store/model-store.ts";
import { Admission } from "./admission.ts";
import { ClosedWindows } from "./closed-windows.ts";
import { LearningModel } from "./learning-model.ts";
import { Shares } from "./shares.ts";

/** State of the model, and objects made from its configuration, as a turn reads them. After an await they may be out of date. */
export interface Model {
  readonly state: ModelState;
  readonly config: ModelConfig;
  readonly timing: Timing;
  /** Makes feature vectors. Throws 409 if an earlier encoder made those that the model has learnt. */
  readonly featurize: () => Featurizer;
  readonly live: LearningModel;
  readonly admission: Admission;
  readonly report: EncodingReport;
  readonly closed: ClosedWindows;
}

/** Holds the model. A caller that has awaited gets it again, because it may have changed. */
export class ModelHolder {
  readonly #env: Environment;
  readonly #store: LearnerStore;
  readonly shares: Shares;
  #model?: Model;
  /** The epoch in which the objects were made. */
  #epoch?: number;

  constructor(env: Environment, store: LearnerStore) {
    this.#env = env;
    this.#store = store;
    this.shares = new Shares(() => store.transact(() => store.database.count("overShare")));
  }

  /** The model. Its objects are made anew in each epoch. @throws {Problem} 404 */
  get(): Model {
    const { epoch, model: state } = this.#store;
    if (!this.#model || this.#epoch !== epoch) {
      const { config } = state;
      this.#epoch = epoch;
      this.#model = {
        state,
        config,
        timing: { windowMs: config.window.ms, graceMs: graceMs(this.#env) },
        featurize: once(() => featurizer(config)),
        live: new LearningModel(this.#store, config),
        admission: new Admission(this.#store, config, this.shares),
        report: new EncodingReport(config),
        closed: new ClosedWindows(this.#store.impressions, config.window.ms),
      };
    }
    if (this.#model.state !== state) this.#model = { ...this.#model, state };
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
