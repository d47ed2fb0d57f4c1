// Turns impressions that were shown elsewhere into those that a learner takes.

import * as v from "valibot";
import type { RequestKeys } from "../domain/ids/join-key.ts";
import { hash32, type TokenSigner } from "../domain/ids/token.ts";
import { nameOf, shownAtOf, uuidAt } from "../domain/ids/uuid.ts";
import { causeOf } from "../domain/impression/sampling.ts";
import type { Environment } from "../environment.ts";
import { strictObject, text } from "../protocol/forms.ts";
import { keys } from "../protocol/join-key.ts";
import { located, Problem } from "../protocol/problem.ts";
import { anyAction, features, place, probability, userAgent } from "../protocol/schema.ts";
import { timestamp } from "../protocol/timestamp.ts";
import type { DecidedElsewhere } from "../rpc/message.ts";
import { hashedKeys } from "./hashed-keys.ts";
import { tokenSigner } from "./token-signer.ts";

/** An impression as a request names it. */
export const impressionItem = strictObject({
  id: v.optional(text(256)),
  context: v.optional(features),
  action: anyAction,
  shownAt: timestamp,
  keys: v.optional(keys, []),
  probability: v.optional(probability),
  place: v.optional(place),
  userAgent: v.optional(userAgent),
});
export type ImpressionItem = v.InferOutput<typeof impressionItem>;

/** The request that registers impressions. */
export interface RegistrationRequest {
  readonly model: string;
  /** Whether it came with a publishable key. */
  readonly byPage: boolean;
  readonly signer: TokenSigner;
  /** Whether the visitor is a crawler, by the user agent that the item states or that the request has. */
  isCrawler(userAgent?: string): boolean;
  hashed(keys: readonly string[]): RequestKeys;
}

/** The request to a model, with the keys of this worker. @param isCrawler lines of a past log have no visitor's request. */
export function registrationTo(env: Environment, model: string, byPage: boolean, isCrawler = (_?: string) => false): RegistrationRequest {
  return { model, byPage, signer: tokenSigner(env), isCrawler, hashed: (keys) => hashedKeys(env, model, keys, byPage) };
}

/** @throws {Problem} 422 naming the place in the list. @see registrationOf */
export function registrationsOf(items: readonly ImpressionItem[], request: RegistrationRequest): Promise<DecidedElsewhere[]> {
  return Promise.all(
    items.map((item, place) => registrationOf(item, request).catch((error) => Promise.reject(located(error, `[${place}]`)))),
  );
}

/**
 * An impression for the learner. Its UUID comes from the impression token, or follows from the caller's own id. Ids of pages and of
 * backends never meet.
 */
export async function registrationOf(
  item: ImpressionItem,
  { model, byPage, signer, isCrawler, hashed }: RegistrationRequest,
): Promise<DecidedElsewhere> {
  const { id, context, shownAt, probability, place } = item;
  const action = typeof item.action === "string" ? { id: item.action } : item.action;
  const token = id === undefined ? undefined : signer.verify(id, Date.now());
  const unlearnt = isCrawler(item.userAgent) ? "crawlers" : token && causeOf(token.sampling);
  const shown = { action, context, probability, place, keys: hashed(item.keys), ...(unlearnt && { unlearnt }) };
  const stated = token && { id: token.id, name: null, shard: token.shard ?? 0 };
  if (stated && byPage) return { ...shown, ...stated, taken: true };
  if (token && stated) {
    const same = token.model === model && shownAtOf(token.id) === shownAt && token.actionHash === hash32(action.id);
    if (!same) throw new Problem(422, "id: is of another model, action or time");
    return { ...shown, ...stated };
  }
  if (id === undefined) return { ...shown, id: uuidAt(shownAt, crypto.getRandomValues(new Uint8Array(10))), name: null };
  // No model's name begins with NUL.
  const uuid = await uuidOfName(byPage ? `\0page\0${model}` : model, id, shownAt);
  return { ...shown, id: uuid, name: nameOf(uuid) };
}

/** UUID derived from a caller's own id of an impression. */
async function uuidOfName(space: string, name: string, shownAt: number): Promise<string> {
  return uuidAt(shownAt, new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(`${space}\0${name}`))));
}
