import { type PolicyFactory, Recommender, type Window } from "afterclick";
import { candidatesFor, type Setting, TWO_GOALS } from "../scenario.ts";

export async function create(factory: PolicyFactory, { options, goals = TWO_GOALS, prior }: Setting, window: Window = { rounds: 8 }) {
  const make = factory as PolicyFactory<object>;
  const recommender = await Recommender.create({ policy: make(options), window, goals, seed: 5 });
  if (prior) recommender.policy.prior(prior);
  return recommender;
}

/** Impressions of 30 rounds, and conversions for some of them. */
export function history(recommender: Recommender, setting: Setting, random: () => number, dyadic = true, prefix?: string) {
  const events: { impressionId: string; reward: number; at: number; goal: string; eventId: string }[] = [];
  for (let round = 1; round <= 30; round++) {
    const now = round * 1000;
    const impressionId = prefix && `${prefix}-${round}`;
    const { action } = recommender.recommend({ candidates: candidatesFor(setting, random), now, impressionId });
    const reward = (): number => (dyadic ? Math.floor(random() * 4096) / 4096 : random());
    const event = { impressionId: action.impressionId, goal: "conversion", eventId: `e${round}`, at: now + 500, reward: reward() };
    if (random() < 0.6) events.push(event);
    if (random() < 0.2) events.push(event);
    if (random() < 0.2) events.push({ ...event, eventId: `f${round}`, at: now + Math.floor(random() * 60_000), reward: reward() });
    if (random() < 0.1) events.push({ ...event, reward: reward() });
    if (random() < 0.1) events.push({ ...event, goal: "click", reward: reward() });
  }
  return events;
}
