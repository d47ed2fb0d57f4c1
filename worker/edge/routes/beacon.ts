// `POST /v1/shown`: what pages report. `sendBeacon` sends no headers, so the key is in the body.

import { Hono } from "hono";
import * as v from "valibot";
import { PAGE_GOAL_MS, PAGE_REWARD } from "../../domain/catalogue/page-rules.ts";
import { pageEvent } from "../../domain/conversion/event.ts";
import { shardName } from "../../domain/ids/shard.ts";
import type { TokenContent } from "../../domain/ids/token.ts";
import { shownAtOf } from "../../domain/ids/uuid.ts";
import { leftOut } from "../../domain/impression/sampling.ts";
import type { Environment } from "../../environment.ts";
import { ACTIVATIONS, FATES } from "../../protocol/answers.ts";
import { about } from "../../protocol/figures.ts";
import { goal, list, modelName, strictObject, text } from "../../protocol/forms.ts";
import { type Operations, withBody } from "../../protocol/operation.ts";
import { Problem } from "../../protocol/problem.ts";
import { valid } from "../../protocol/validation.ts";
import { learner } from "../../rpc/learner-client.ts";
import { keyInBody } from "../access/api-keys.ts";
import { askerName } from "../access/asker.ts";
import { bodyLimit } from "../access/body-limit.ts";
import type { KnownModels } from "../access/known-model.ts";
import { rateLimit } from "../access/rate-limit.ts";
import { isCrawler } from "../access/visitor.ts";
import { tokenSigner } from "../token-signer.ts";

/** Most bytes of a page's report: what `sendBeacon` sends at most. */
const MAX_BYTES = 64 * 1024;

/** Most impressions and goals in one report. */
const MOST_ITEMS = 100;

/** After this long, every location knows a model, in ms. */
const KNOWN_AFTER_MS = 120_000;

const reachedGoal = strictObject({ impressionId: text(2048), goal });
/** A page's report. The key is in the body, because `sendBeacon` sends no headers. */
const beaconBody = strictObject({
  key: text(512),
  model: v.optional(modelName),
  seen: v.optional(list(text(2048), MOST_ITEMS), []),
  reached: v.optional(list(reachedGoal, MOST_ITEMS), []),
});

export const answer = () =>
  v.strictObject({
    seen: about(
      v.array(v.strictObject({ impressionId: v.string(), status: v.picklist([...ACTIVATIONS, "unknown", "refused"]) })),
      "duplicate: the impression counts already. accepted: it counts as soon as it is registered. unsampled, unlearnt: it was left out of " +
        "learning. unknown: it was not given by this worker, or waited too long.",
    ),
    reached: v.array(
      v.strictObject({
        impressionId: v.string(),
        goal: v.string(),
        status: v.picklist(FATES),
        detail: v.optional(v.string()),
      }),
    ),
  });

export const beacon = (known: KnownModels) =>
  new Hono().post("/v1/shown", bodyLimit(MAX_BYTES), valid("json", beaconBody), keyInBody, rateLimit, async (c) => {
    const sending = { known, asker: askerName(c), isCrawler: isCrawler(c) };
    return c.json(await takeBeacon(c.env, c.req.valid("json"), sending), 202);
  });

type BeaconBody = v.InferOutput<typeof beaconBody>;
type Answer = v.InferOutput<ReturnType<typeof answer>>;
type Seen = Answer["seen"][number];
type Reached = Answer["reached"][number];
type Verdict = Pick<Reached, "status" | "detail">;

/** An item for a learner, with the place of its result. */
interface Delivery {
  readonly place: number;
  readonly token: TokenContent;
}

/** The sender of a report. */
interface Sending {
  readonly known: KnownModels;
  readonly asker: string | undefined;
  readonly isCrawler: boolean;
}

const OTHER_MODEL: Verdict = { status: "refused", detail: "impressionId: is of another model" };
const UNKNOWN: Verdict = { status: "unknown" };
const CRAWLER = { status: "unlearnt", detail: "the report comes from a crawler, by its user agent" } as const;

/**
 * Takes a page's report. Its impression ids prove that this worker chose the actions. A goal counts once for each impression, at the
 * worker's time. Nothing goes to KV: a page keeps its report until the worker has answered.
 *
 * @throws {Problem} 413 if there are too many items, 429 if the learner has taken too many, 503 if it cannot be reached. The same report
 * may be sent again.
 */
async function takeBeacon(env: Environment, { model, seen, reached }: BeaconBody, { known, asker, isCrawler }: Sending): Promise<Answer> {
  if (seen.length + reached.length > MOST_ITEMS) throw new Problem(413, `seen, reached: expected at most ${MOST_ITEMS} items together`);
  const signer = tokenSigner(env);
  const now = Date.now();
  const tokenOf = async (impressionId: string): Promise<TokenContent | Verdict> => {
    const token = signer.verify(impressionId, now);
    if (!token) return UNKNOWN;
    if (model !== undefined && token.model !== model) return OTHER_MODEL;
    // KV may not know a new model yet.
    return now - token.generation < KNOWN_AFTER_MS || (await known.has(env, token.model)) ? token : UNKNOWN;
  };
  const [shown, goals] = await Promise.all(
    [seen, reached.map(({ impressionId }) => impressionId)].map((ids) => Promise.all(ids.map(tokenOf))),
  );
  const statuses = shown.map((token): Seen["status"] => {
    if ("id" in token) return leftOut(token)?.status ?? (isCrawler ? CRAWLER : OPEN).status;
    return token.status === "refused" ? "refused" : "unknown";
  });
  const verdicts = goals.map((token): Verdict => {
    if (!("id" in token)) return token;
    return leftOut(token) ?? (isCrawler ? CRAWLER : onArrival(token, now));
  });

  const deliveries = (tokens: readonly (TokenContent | Verdict)[], isOpen: (place: number) => boolean) =>
    tokens.flatMap((token, place): Delivery[] => ("id" in token && isOpen(place) ? [{ place, token }] : []));
  const activations = byLearner(deliveries(shown, (place) => statuses[place] === "unknown"));
  const crawled = byLearner(isCrawler ? deliveries(shown, (place) => statuses[place] === "unlearnt") : []);
  const events = byLearner(deliveries(goals, (place) => verdicts[place] === OPEN));
  await Promise.all(
    Array.from(new Set([...activations.keys(), ...events.keys(), ...crawled.keys()]), async (name) => {
      const [activated, entered] = [activations.get(name) ?? [], events.get(name) ?? []];
      const report = {
        asker,
        crawled: crawled.get(name)?.filter(({ token }) => !leftOut(token)).length,
        seen: activated.map(({ token }) => token.id),
        reached: entered.map(({ token: { id, generation }, place }) => {
          const { goal } = reached[place];
          return { impression: id, generation, goal, event: pageEvent(id, goal), reward: PAGE_REWARD, at: now };
        }),
      };
      const results = await learner(env, name, (stub) => stub.report(report));
      for (const [i, { place }] of activated.entries()) statuses[place] = results.seen[i] ?? "unknown";
      for (const [i, { place }] of entered.entries()) verdicts[place] = verdictOf(results.reached[i]);
    }),
  );
  return {
    seen: seen.map((impressionId, place) => ({ impressionId, status: statuses[place] })),
    reached: reached.map(({ impressionId, goal }, place) => ({ impressionId, goal, ...verdicts[place] })),
  };
}

/** The verdict until the learner has given its own. */
const OPEN = { status: "unknown" } as const;

function onArrival({ id }: TokenContent, now: number): Verdict {
  return now - shownAtOf(id) > PAGE_GOAL_MS ? { status: "late" } : OPEN;
}

function byLearner(deliveries: readonly Delivery[]): Map<string, Delivery[]> {
  return Map.groupBy(deliveries, ({ token }) => shardName(token.model, token.shard ?? 0));
}

/** A result as a page may know it. */
function verdictOf({ status, detail }: Verdict): Verdict {
  return { status, ...(detail !== undefined && { detail }) };
}

export const operations = (): Operations => ({
  "POST /v1/shown": {
    id: "reportFromPage",
    summary: "Report from a page: impressions that were shown, and public goals",
    key: "none",
    description:
      "The publishable key is in the body, because sendBeacon sends no headers; any content type will do. A goal counts once for each impression, with reward 1 at the worker's time, within an hour of the impression. Only goals with public are taken, and none with a value.",
    body: { BeaconBody: beaconBody },
    examples: ({ impressionId, publishableKey: key }) => ({
      seen: { key, seen: [impressionId] },
      clicked: { key, model: "shop", reached: [{ impressionId, goal: "click" }] },
    }),
    answers: { 202: { description: "One result for each item, in the same order.", schema: { Beacon: answer() } } },
    problems: [...withBody, 401, 403, 422, 429, 503],
  },
});
