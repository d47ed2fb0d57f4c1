// Finds what a visitor has seen, for the rule that leaves products out.

import { isBought, type Seen } from "../../domain/decision/left-out.ts";
import { shardName, shardOf } from "../../domain/ids/shard.ts";
import type { ModelConfig } from "../../domain/model/model.ts";
import { learner } from "../../rpc/learner-client.ts";
import type { SeenQuestion } from "../../rpc/message.ts";
import type { Parts } from "../parts.ts";
import type { LearnerStore } from "../store/learner-store.ts";

/** Lists in which repetitions are counted, and impressions with a purchase, at most: the newest of a visitor. */
const MOST_LISTS = 200;
const MOST_BOUGHT = 1000;

/** The impressions of a visitor in this shard that were bought, or shown within the time of the rule. A page hears of those of pages alone. */
export function seenHere(
  { impressions }: LearnerStore,
  { leaveOut = {} }: ModelConfig,
  { keys, byPage }: SeenQuestion,
  now: number,
): Seen[] {
  const { bought, shown } = leaveOut;
  const reached = bought ? impressions.reached(keys, MOST_BOUGHT).filter((each) => isBought(leaveOut, each)) : [];
  const lists = shown ? impressions.keys.shownSince(keys, now - shown.within.ms, MOST_LISTS) : [];
  return [...reached.map((each) => [each, true] as const), ...lists.map((each) => [each, false] as const)].flatMap(([each, bought]) =>
    byPage && !each.byPage ? [] : [{ impression: each.id, action: each.action, bought }],
  );
}

/** The same in all shards. The shard asks those that its links name, and the homes of the keys, except those that are asked already. */
export async function seenAnywhere({ env, store, current }: Parts, question: SeenQuestion): Promise<Seen[]> {
  const { keys, asked = [] } = question;
  const { model, shard } = shardOf(store.model.name);
  const own = seenHere(store, current.get().config, question, Date.now());
  const known = new Set([...asked, shard]);
  const knowing = [...store.links.shardsOf(keys), ...keys.map((key) => store.links.homeOf(key))];
  const others = new Set(knowing.filter((other) => !known.has(other)));
  const passed = { ...question, asked: [...known, ...others] };
  const answers = Array.from(others, (other) => learner(env, shardName(model, other), (stub) => stub.seen(passed)));
  return [...own, ...(await Promise.all(answers)).flat()];
}
