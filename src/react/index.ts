/**
 * Recommendations in a React app, and reports of what its visitors saw and clicked.
 *
 * @module afterclick/react
 */
export { Impression, type ImpressionProps } from "./impression.ts";
export { Afterclick, type AfterclickProps } from "./provider.ts";
export type { Answer, Question, Recommended } from "./request.ts";
export { type Item, type Recommendations, type RecommendationsOptions, useRecommendations } from "./use-recommendations.ts";
