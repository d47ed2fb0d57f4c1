// npm run soak: runs a worker behind a bad network, kills it repeatedly, and checks that nothing is lost or counted twice.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { closesAt } from "../worker/domain/bucket.ts";
import { ApiError, call, UnreachableError } from "./api.ts";
import { command, type Values, wholeNumber } from "./command.ts";
import { freshSecrets, writeDevVars } from "./dev-vars.ts";
import { progressBar, refreshing } from "./progress.ts";
import { breaches, CLOSED_WITHIN_MS, type Evidence, type LoggedConversion, type LoggedImpression, tally } from "./soak/check.ts";
import { foldedDigest, type LearntConfig } from "./soak/fold.ts";
import type { Plan } from "./soak/plan.ts";
import { ChaosProxy } from "./soak/proxy.ts";
import { Traffic } from "./soak/traffic.ts";
import { Victim } from "./soak/victim.ts";
import { anyFreePort, askedToStop, HOST, StartError } from "./worker-process.ts";

const MODEL = "soak";
const ACTIONS = 8;
const TIMING = { windowMs: 20_000, graceMs: 15_000 };
const KILLS = 5;
const PROGRESS =
  "{bar} {percentage}% | {value}/{total} recommended | {accepted} conversions accepted, {kills} kills | {phase} | {duration_formatted}";
const LOOKUPS_AT_ONCE = 16;
const LONGEST_MS = 15 * 60_000;

const USAGE = `Checks that a worker loses nothing and counts nothing twice. Starts its own worker, sends it recommendations and signed
conversions through a proxy that cuts connections, delays requests and repeats webhooks, and kills the worker ${KILLS} times.

Usage: npm run soak [-- --recommendations N] [--conversions N] [--seed N]

  --recommendations N   number of recommendations, default 20000
  --conversions N       number of them that convert, default 2000: in time or late, some restated, retracted or repeated
  --seed N              seed of conversions and faults, default 1

The last line is JSON. Exit code 1: a check failed, and standard error says which. Takes at most ${LONGEST_MS / 60_000} minutes.`;

class StoppedError extends Error {}

interface Session {
  readonly plan: Plan;
  readonly victim: Victim;
  readonly traffic: Traffic;
  readonly proxy: ChaosProxy;
  /** URL of the worker itself, without the proxy. */
  readonly base: URL;
  readonly key: string;
  readonly signal: AbortSignal;
}

const options = {
  recommendations: { type: "string", default: "20000" },
  conversions: { type: "string", default: "2000" },
  seed: { type: "string", default: "1" },
} as const;

async function main(values: Values<typeof options>): Promise<boolean> {
  const recommendations = wholeNumber("--recommendations", values.recommendations, 1, 100_000);
  const plan = {
    seed: wholeNumber("--seed", values.seed, 0),
    recommendations,
    conversions: wholeNumber("--conversions", values.conversions, 0, recommendations),
    windowMs: TIMING.windowMs,
  };
  const folder = await mkdtemp(join(tmpdir(), "afterclick-soak-"));
  const secretsFile = join(folder, "secrets.env");
  const secrets = freshSecrets();
  await writeDevVars({ ...secrets, AFTERCLICK_GRACE_MS: String(TIMING.graceMs) }, secretsFile);
  const port = await anyFreePort();
  const base = new URL(`http://${HOST}:${port}`);
  const victim = new Victim({ port, state: join(folder, "state"), secretsFile, logLevel: "error" });
  const proxy = new ChaosProxy({ seed: plan.seed, target: base });
  const controller = new AbortController();
  const { signal } = controller;
  const key = secrets.AFTERCLICK_SECRET_KEY;
  try {
    const traffic = new Traffic({ base: await proxy.listen(), model: MODEL, key, secret: secrets.AFTERCLICK_WEBHOOK_SECRET, plan, signal });
    const ended = Promise.race([victim.died(), stopped(signal)]);
    return await Promise.race([soak({ plan, victim, traffic, proxy, base, key, signal }), ended]);
  } finally {
    controller.abort();
    await victim.kill();
    await proxy.close();
    await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }
}

/** @throws {StoppedError} on a signal, or after LONGEST_MS. */
async function stopped(signal: AbortSignal): Promise<never> {
  const late = sleep(LONGEST_MS, undefined, { signal, ref: false }).then(
    () => `The soak did not end within ${LONGEST_MS / 60_000} minutes. Try fewer recommendations.`,
  );
  throw new StoppedError(await Promise.race([late, askedToStop().then(() => "Stopped by a signal.")]));
}

async function soak(session: Session): Promise<boolean> {
  const { plan, victim, traffic, proxy } = session;
  await victim.start();
  await createModel(session);
  const bar = progressBar(PROGRESS);
  bar.start(plan.recommendations, 0, { accepted: 0, kills: 0, phase: "traffic" });
  refreshing(bar, () => bar.update(traffic.answered.size, { accepted: traffic.accepted.length, kills: victim.kills.length }));
  try {
    await Promise.all([traffic.run(), killMeanwhile(session)]);
    bar.update({ phase: "waiting until all buckets are closed" });
    await sleep(closesAt(traffic.lastShownAt, TIMING) + CLOSED_WITHIN_MS - Date.now(), undefined, { signal: session.signal });
    await traffic.runBelated();
    await proxy.echoed();
    bar.update({ phase: "checking" });
    const evidence = await gather(session);
    bar.stop();
    const failures = [...traffic.failures, ...breaches(evidence)];
    for (const sentence of failures) console.error(`failed: ${sentence}`);
    const faults = { kills: victim.kills.length, ...proxy.counts };
    const { recommendations, conversions } = plan;
    console.log(JSON.stringify({ recommendations, conversions, ...tally(evidence), ...faults, ok: failures.length === 0 }));
    return failures.length === 0;
  } finally {
    bar.stop();
  }
}

async function createModel({ base, key }: Session): Promise<void> {
  const encoder = { dimension: 32, interactions: "all" };
  const json = { window: { ms: TIMING.windowMs }, encoder, publish: { ms: 1000 } };
  await call(base, `/v1/models/${MODEL}`, { method: "PUT", key, json });
  const actions = Array.from({ length: ACTIONS }, (_, i) => ({ id: `product-${i}`, features: { brand: `brand-${i % 3}` } }));
  await call(base, `/v1/models/${MODEL}/actions`, { method: "PUT", key, json: { actions } });
}

/** Kills the worker after equal parts of the recommendations have been answered. */
async function killMeanwhile({ plan, traffic, victim, signal }: Session): Promise<void> {
  for (let kill = 1; kill <= KILLS; kill++) {
    while (traffic.answered.size < (kill * plan.recommendations) / (KILLS + 1)) await sleep(20, undefined, { signal });
    await victim.kill();
    await victim.start();
  }
}

/** Collects the evidence from the public API. */
async function gather(session: Session): Promise<Evidence> {
  const { base, key, traffic, victim } = session;
  const model = `/v1/models/${MODEL}`;
  const { body } = await call<LearntConfig & Pick<Evidence, "counts" | "digest">>(base, model, { key });
  const response = await fetch(new URL(`${model}/events`, base), { headers: { authorization: `Bearer ${key}` } });
  if (!response.ok) throw new ApiError(`GET ${model}/events`, response.status, await response.text());
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
    timing: TIMING,
    answered: traffic.answered,
    accepted: traffic.accepted,
    kills: victim.kills,
    impressions,
    conversions,
    answeredRewards: await rewardsOf(session, Array.from(asked)),
    counts: body.counts,
    digest: body.digest,
    foldedDigest: await foldedDigest(body, impressions, conversions),
  };
}

/** Asks the worker for the rewards of impressions, which `asked` names by UUID. Omits impressions that it does not know. */
async function rewardsOf({ base, key, traffic }: Session, asked: string[]): Promise<Evidence["answeredRewards"]> {
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

await command({ usage: USAGE, options, known: [StoppedError, StartError, ApiError, UnreachableError], run: main });
process.exit();
