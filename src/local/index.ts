/**
 * Models in a page: one that decides by a worker's publications, and one that learns on the device alone.
 *
 * @module afterclick/local
 */
export type { Action, Features } from "afterclick";
export type { LocalConversion, LocalModel, LocalRecommendation, LocalRequest } from "./model.ts";
export { OwnModel, type OwnModelOptions } from "./own-model.ts";
export { PublishedModel, type PublishedModelOptions, type PublishedRequest } from "./published-model.ts";
export type { Report } from "./shelf.ts";
