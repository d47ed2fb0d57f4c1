import { ApiError, call } from "../../cli/worker/api.ts";
import type { Evidence, LoggedConversion, LoggedImpression } from "./check.ts";
import { foldedDigest, type LearntConfig } from "./fold.ts";
import type { Traffic } from "./traffic.ts";

const LOOKUPS_AT_ONCE = 16;

interface Scene extends Pick<Evidence, "timing" | "outage" | "kills"> {
  /** URL of the worker itself, without a proxy. */
  readonly base: URL;
  readonly key: string;
  readonly model: string;
  readonly traffic: Traffic;
}

/** Collects the evidence of one model from the public API. @throws {ApiError} */
export async function evidenceOf({ base, key, model, traffic, timing, outage, kills }: Scene): Promise<Evidence> {
  const path = `/v1/models/${model}`;
  const { body } = await call<LearntConfig & Pick<Evidence, "counts" | "digest">>(base, path, { key });
  const response = await fetch(new URL(`${path}/events`, base), { headers: { authorization: `Bearer ${key}` } });
  if (!response.ok) throw new ApiError(`GET ${path}/events`, response.status, await response.text());
  const lines = (await response.text())
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { readonly type: string });
  const impressions = lines.filter((line): line is LoggedImpression => line.type === "impression");
  const conversions = lines.filter((line): line is LoggedConversion => line.type === "conversion");
  const registered = new Set(impressions.map(({ id }) => id));
  // Impressions that the log lacks, and impressions with reported conversions.
  const asked = new Set(traffic.accepted.map(({ impression }) => impression));
  for (const id of traffic.answered.keys()) if (!registered.has(id)) asked.add(id);
  return {
    ...{ timing, outage, kills, impressions, conversions },
    answered: traffic.answered,
    accepted: traffic.accepted,
    answeredRewards: await rewardsOf(base, key, traffic, Array.from(asked)),
    counts: body.counts,
    digest: body.digest,
    foldedDigest: await foldedDigest(body, impressions, conversions),
  };
}

/** Asks the worker for the rewards of impressions, which `asked` names by UUID. Omits impressions that it does not know. */
async function rewardsOf(base: URL, key: string, traffic: Traffic, asked: string[]): Promise<Evidence["answeredRewards"]> {
  const rewards = new Map<string, number | null>();
  const look = async () => {
    for (let uuid = asked.pop(); uuid; uuid = asked.pop()) {
      try {
        const path = `/v1/impressions/${traffic.ids.get(uuid)}`;
        rewards.set(uuid, (await call<{ reward: number | null }>(base, path, { key })).body.reward);
      } catch (error) {
        if (!(error instanceof ApiError) || error.status !== 404) throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: LOOKUPS_AT_ONCE }, look));
  return rewards;
}
