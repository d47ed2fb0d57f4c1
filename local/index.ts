// `afterclick/local`: decisions in a page, from a worker's published snapshots or from the device's own learning.

export type { Action, Features } from "../publication/featurizer.ts";
export { OwnModel, type OwnModelOptions } from "./own-model.ts";
export {
  type LocalConversion,
  type LocalRecommendation,
  type LocalRequest,
  PublishedModel,
  type PublishedModelOptions,
} from "./published-model.ts";
export type { Report } from "./shelf.ts";
