// `afterclick/local`: deciding in a page, by a worker's snapshots or by what the device has learnt alone.

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
