import { type Goals, type Policy, type PolicyFactory, Recommender } from "afterclick";

/** A small linear-congruential stream. It gives the same test data on every machine. */
export function stream(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** `count` vectors with `dimension` multiples of 2^-12 in [-1/2, 1/2). */
export function dyadicVectors(random: () => number, count: number, dimension: number): number[][] {
  return Array.from({ length: count }, () => Array.from({ length: dimension }, () => (Math.floor(random() * 4096) - 2048) / 4096));
}

/** A tested configuration of a policy. If the options have a `domain`, requests have no candidates. */
export interface Setting {
  readonly label: string;
  readonly options: Record<string, unknown>;
  /** The policy chooses one point at a time, in its own order. */
  readonly proposes?: boolean;
  /** Default: two goals that add up. */
  readonly goals?: Goals;
  /** What the policy is told of sales before it learns. */
  readonly prior?: Parameters<Policy["prior"]>[0];
}

/** Goals by default, as a shop has them. */
export const TWO_GOALS: Goals = { click: { weight: 0.25 }, conversion: { weight: 1 } };
/** Candidates for a request, if the policy takes any. */
export function candidatesFor({ options }: Setting, random: () => number, count = 6): { id: string; features: number[] }[] | undefined {
  const vectors = dyadicVectors(random, count, 4);
  return "domain" in options ? undefined : vectors.map((features, i) => ({ id: `item-${i}`, features }));
}

/**
 * Plays 40 rounds with delayed, late and repeated conversions, saves, restores, plays 20 more rounds, publishes, and decides by the
 * publication. Returns all decisions, the final snapshot and the publication, in a form that shows every bit.
 */
export async function play(factory: PolicyFactory, setting: Setting, module?: WebAssembly.Module): Promise<string> {
  const random = stream(17);
  const make = factory as PolicyFactory<object>;
  const { goals = TWO_GOALS } = setting;
  let recommender = await Recommender.create({ policy: make(setting.options), window: { ms: 5000 }, goals, seed: 11, module });
  if (setting.prior) recommender.policy.prior(setting.prior);
  const log: unknown[] = [];
  const due: { at: number; impressionId: string; goal: string; reward: number }[] = [];
  for (let round = 1; round <= 60; round++) {
    const now = round * 1000;
    if (round === 41) recommender = await Recommender.restore(recommender.snapshot(), { policies: [factory], module });
    const candidates = candidatesFor(setting, random);
    const { ranking } = recommender.recommend({ candidates, limit: setting.proposes ? 1 : 2, now });
    log.push(ranking);
    for (const { impressionId } of ranking) {
      if (random() < 0.5) {
        const goal = random() < 0.5 ? "click" : "conversion";
        due.push({ impressionId, goal, at: now + Math.floor(random() * 7000), reward: Math.floor(random() * 4096) / 4096 });
      }
    }
    for (const event of due.filter(({ at }) => at <= now + 1000 && at > now)) {
      log.push(recommender.convert(event), recommender.convert(event));
    }
  }
  const publication = recommender.publication();
  const { policy } = await Recommender.restore(publication, { policies: [factory], module });
  const candidates = candidatesFor(setting, random);
  for (const draws of [0, 50, 100]) {
    const request = { candidates, round: 61, now: 61_000, draws, limit: setting.proposes ? 1 : 6 };
    log.push(policy.choose(request));
    if (candidates) log.push(policy.choose({ ...request, boosts: [0.05, -0.4, 0, 0.3, 0.125, 0.05] }));
  }
  return `${bits(log, recommender.snapshot())} ${bits([], publication)}`;
}

/** JSON with each number as its bits and bytes as hexadecimal. */
function bits(log: unknown, bytes: Uint8Array): string {
  const view = new DataView(new ArrayBuffer(8));
  const decisions = JSON.stringify(log, (_, value) => {
    if (typeof value !== "number") return value;
    view.setFloat64(0, value);
    return view.getBigUint64(0).toString(16);
  });
  return `${decisions} ${hexadecimal(bytes)}`;
}

/** SHA-256 of each scenario's text, in hexadecimal. It is short enough for a browser's driver, and says which scenario differs. */
export async function digests(played: Readonly<Record<string, string>>): Promise<Record<string, string>> {
  const entries = Object.entries(played).map(async ([name, text]) => {
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
    return [name, hexadecimal(digest)];
  });
  return Object.fromEntries(await Promise.all(entries));
}

function hexadecimal(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
