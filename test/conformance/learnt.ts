import type { Recommender } from "afterclick";
import type { ChooseRequest } from "afterclick/research";
import { create, history } from "../support/logs/history.ts";
import { candidatesFor, stream } from "../support/scenario.ts";
import type { Listed } from "./stated.ts";

export interface Learnt {
  readonly recommender: Recommender;
  readonly request: ChooseRequest;
}

/** A recommender after 30 rounds, and a request for the next. */
export async function learnt({ factory, setting }: Listed): Promise<Learnt> {
  const recommender = await create(factory, setting);
  for (const event of history(recommender, setting, stream(21))) recommender.convert(event);
  return { recommender, request: { candidates: candidatesFor(setting, stream(22)), round: 31 } };
}

/** The number of candidates. */
export function places({ proposes }: Listed, { candidates }: ChooseRequest): number {
  return proposes ? 1 : (candidates?.length ?? 20);
}
