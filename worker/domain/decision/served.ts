import type { Featurizer } from "afterclick/research";
import type { Catalogue } from "../catalogue/catalogue.ts";
import type { ModelConfig } from "../model/model.ts";
import type { Policies } from "../model/policies.ts";

/** A model at one version, ready to decide, in a learner or in an isolate at the edge. */
export interface Served {
  readonly config: ModelConfig;
  readonly featurize: Featurizer;
  readonly catalogue: Catalogue;
  readonly policies: Policies;
  readonly version: number;
  /** Whether the policies know nothing of the model, because another version of the worker wrote its state. */
  readonly unlearnt?: boolean;
}
