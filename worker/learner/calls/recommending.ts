// Decides for the recommendations of one turn: all by the same version of the model, which then learns all of their impressions.

import { Answered } from "../../domain/decision/answered.ts";
import { decide } from "../../domain/decision/decision.ts";
import { withLeftOut } from "../../domain/decision/left-out.ts";
import { counted, giverOf } from "../../domain/ids/join-key.ts";
import type { ImpressionRow } from "../../domain/impression/impression.ts";
import { sampled, UNLEARNT } from "../../domain/impression/sampling.ts";
import type { Recommendation, RecommendRequest } from "../../rpc/message.ts";
import { type Done, each } from "../group.ts";
import type { Parts } from "../parts.ts";
import { seenHere } from "./seen.ts";

/** Answers groups of requests. A repeated request gets the answer of the first, for as long as the learner runs. */
export function recommending({
  store,
  current,
  running,
  upkeep,
}: Parts): (requests: readonly RecommendRequest[]) => Promise<Done<Recommendation>> {
  const answered = new Answered<Recommendation>();
  return async (requests) => {
    const { config, live, admission } = current.get();
    const { served, policies } = await running.deciding();
    const { generation, watermark, horizon } = store.model;
    // A clock that was set back must not reach into closed buckets, nor before a reset.
    const earliest = Math.max(watermark, horizon);
    const now = Math.max(Date.now(), earliest);
    const samplingFor = admission.samplings();
    const waits = admission.waiting();
    const [shown, deferred]: ImpressionRow[][] = [[], []];
    const keysOf = ({ keys, byPage }: RecommendRequest) => counted(keys, byPage, config.pageKeys).flat();
    const decideFor = (request: RecommendRequest): Recommendation => {
      const { unlearnt, byPage, defer } = request;
      if (defer && !unlearnt) admission.checkDeferred(request.limit, request, waits);
      // A model whose learner decides has one shard.
      const seen = config.leaveOut && !unlearnt ? seenHere(store, config, { keys: keysOf(request), byPage }, now) : [];
      const { shownAt, arm, rows, actions } = decide(served, withLeftOut(served, request, seen, now), request.keys, now, earliest);
      const asker = defer ? undefined : request.asker;
      const sampling = unlearnt ? UNLEARNT[unlearnt] : samplingFor(rows.length, asker)[giverOf(byPage)];
      (defer ? deferred : shown).push(...sampled(rows, sampling));
      const windowEndsAt = shownAt + config.window.ms;
      return { generation, sampling, modelVersion: served.version, policy: config.policy, arm, windowEndsAt, shard: 0, actions };
    };
    const fresh = new Map<string, Recommendation>();
    const answers = each(requests, (request) => {
      const name = request.repeat && `${request.repeat} ${generation} ${served.catalogue.version}`;
      if (name === undefined) return decideFor(request);
      const known = fresh.get(name) ?? answered.find(name, now);
      if (known) return known;
      const answer = decideFor(request);
      fresh.set(name, answer);
      return answer;
    });
    if (shown.length + deferred.length > 0) live.register(policies, shown, deferred);
    for (const [name, answer] of fresh) answered.remember(name, now, answer);
    const times = answers.flatMap((answer) => ("windowEndsAt" in answer ? [answer.windowEndsAt - config.window.ms] : []));
    const followUp = async () => {
      if (times.length > 0) await upkeep.arm(Math.min(...times), { deferred: requests.some(({ defer }) => defer) });
    };
    return { answers, followUp };
  };
}
