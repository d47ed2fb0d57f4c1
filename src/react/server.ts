/**
 * Recommendations of a page that a server renders.
 *
 * @module afterclick/react/server
 */
import { type Answer, ask, checkTexts, type Question, type Terms, type Worker } from "./request.ts";

export type { Answer, Question, Recommended } from "./request.ts";

/** Options of `recommendations`. */
export interface RecommendationsRequest extends Question, Terms, Worker {
  readonly limit: number;
}

/**
 * Asks a worker for a visitor's list, on a server: in a server component, or in a loader. The page passes the answer to
 * `useRecommendations` as `initial`, and then asks nothing. A list is one visitor's: neither the answer nor the page may be cached.
 *
 * A worker that is down, slow or refuses is an answer with an `error`. The page then shows the shop's own list.
 *
 * @throws {TypeError} if `url`, `key` or `model` is missing.
 */
export function recommendations({ url, key, model, consent, userAgent, timeoutMs, ...question }: RecommendationsRequest): Promise<Answer> {
  checkTexts("recommendations", { url, key, model });
  return ask({ url, key, model }, question, { consent, userAgent, timeoutMs });
}
