// npm run soak: runs a worker behind a bad network, kills it repeatedly, and checks that nothing is lost or counted twice.
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { command, type Values, wholeNumber } from "../cli/command/command.ts";
import { progressBar, refreshing } from "../cli/command/progress.ts";
import { print, printError } from "../cli/command/terminal.ts";
import { ApiError, call, UnreachableError } from "../cli/worker/api.ts";
import { StartError } from "../cli/worker/worker-process.ts";
import { closesAt, type Timing } from "../worker/domain/impression/bucket.ts";
import { breaches, CLOSED_WITHIN_MS, type Evidence, tally } from "./soak/check.ts";
import { evidenceOf } from "./soak/evidence.ts";
import { storeOtherFormat } from "./soak/other-version.ts";
import { outageOf } from "./soak/outage.ts";
import type { Plan } from "./soak/plan.ts";
import { ChaosProxy } from "./soak/proxy.ts";
import { Traffic } from "./soak/traffic.ts";
import { onStand, type Stand, StoppedError, type Victim } from "./soak/victim.ts";

const ENTRY = fileURLToPath(import.meta.resolve("./soak/severable-worker.ts"));
const ACTIONS = 8;
const WINDOW_MS = 20_000;
const GRACE_MS = 15_000;
/** After this long, the impressions of answered recommendations are registered. */
const REGISTERED_AFTER_MS = 2000;
const KILLS = 5;
const PROGRESS =
  "{bar} {percentage}% | {value}/{total} recommended | {accepted} conversions accepted, {kills} kills | {phase} | {duration_formatted}";
const LONGEST_MS = 15 * 60_000;

const USAGE = `Checks that a worker loses nothing and counts nothing twice. Starts its own worker, sends it recommendations and signed
conversions through a proxy that cuts connections, delays requests and repeats webhooks, and kills the worker ${KILLS} times.
Meanwhile the learner of a second model cannot be reached for some time, so that only KV takes its conversions.
With --upgrade, what is stored at the middle kill is of another version from then on, so the models learn their logs again.

Usage: npm run soak [-- --recommendations N] [--conversions N] [--seed N] [--upgrade]

  --recommendations N   number of recommendations, default 20000
  --conversions N       number of them that convert, default 2000: in time or late, some restated, retracted or repeated
  --seed N              seed of conversions and faults, default 1
  --upgrade             each recommendation asks for ${ACTIONS} actions, and has to be answered with a list

Example: npm run soak -- --recommendations 2000 --conversions 200

The last line is JSON. Exit code 1: a check failed, and standard error says which. Takes at most ${LONGEST_MS / 60_000} minutes.`;

/** A model and the clients that use it. */
interface Shop {
  readonly model: string;
  readonly plan: Plan;
  readonly traffic: Traffic;
  outage?: Evidence["outage"];
}

interface Session {
  /** The clients of this one decide when the worker is killed. */
  readonly main: Shop;
  /** The learner of this one cannot be reached for some time. */
  readonly cutOff: Shop;
  readonly outageMs: number;
  readonly victim: Victim;
  /** Folder of what is stored, if another version is to have written it at the middle kill. */
  readonly upgraded?: string;
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
  upgrade: { type: "boolean", default: false },
} as const;

async function main(values: Values<typeof options>): Promise<boolean> {
  const recommendations = wholeNumber("--recommendations", values.recommendations, 1, 100_000);
  const plan = {
    seed: wholeNumber("--seed", values.seed, 0),
    recommendations,
    conversions: wholeNumber("--conversions", values.conversions, 0, recommendations),
    windowMs: WINDOW_MS,
  };
  const stand = { entry: ENTRY, graceMs: GRACE_MS, longestMs: LONGEST_MS, advice: "Try fewer recommendations." };
  return onStand(stand, (own) => soakOn(own, plan, values.upgrade));
}

async function soakOn({ victim, base, state, secrets, signal }: Stand, plan: Plan, upgrade: boolean): Promise<boolean> {
  const proxy = new ChaosProxy({ seed: plan.seed, target: base });
  const network = await proxy.listen();
  const key = secrets.AFTERCLICK_SECRET_KEY;
  const shop = (model: string, plan: Plan): Shop => {
    const limit = upgrade ? ACTIONS : 1;
    const secret = secrets.AFTERCLICK_WEBHOOK_SECRET;
    return { model, plan, traffic: new Traffic({ base: network, model, key, secret, plan, limit, signal }) };
  };
  const outage = outageOf(plan);
  const [main, cutOff] = [shop("main", plan), shop("outage", outage.plan)];
  try {
    return await soak({ main, cutOff, outageMs: outage.ms, victim, proxy, base, key, signal, ...(upgrade && { upgraded: state }) });
  } finally {
    await proxy.close();
  }
}

async function soak(session: Session): Promise<boolean> {
  const { main, cutOff, victim, proxy } = session;
  const { plan, traffic } = main;
  const shops = [main, cutOff];
  for (const shop of shops) await createModel(session, shop);
  const bar = progressBar(PROGRESS);
  bar.start(plan.recommendations, 0, { accepted: 0, kills: 0, phase: "traffic" });
  refreshing(bar, () => bar.update(traffic.answered.size, { accepted: traffic.accepted.length, kills: victim.kills.length }));
  try {
    await Promise.all([...shops.map((shop) => shop.traffic.run()), killMeanwhile(session), cutOffMeanwhile(session)]);
    bar.update({ phase: "waiting until all buckets are closed" });
    const closed = Math.max(...shops.map((shop) => closesAt(shop.traffic.lastShownAt, timingOf(shop))));
    await sleep(Math.max(0, closed + CLOSED_WITHIN_MS - Date.now()), undefined, { signal: session.signal });
    await Promise.all(shops.map((shop) => shop.traffic.runBelated()));
    await proxy.echoed();
    bar.update({ phase: "checking" });
    const [evidence, ofOutage] = await Promise.all(shops.map((shop) => gather(session, shop)));
    bar.stop();
    const failures = [
      ...[...traffic.failures, ...breaches(evidence)],
      ...(session.upgraded && traffic.refused > 0 ? [`${traffic.refused} recommendations were answered without a list`] : []),
      ...[...cutOff.traffic.failures, ...breaches(ofOutage)].map((sentence) => `${cutOff.model}: ${sentence}`),
    ];
    for (const sentence of failures) printError(`failed: ${sentence}`);
    const faults = { kills: victim.kills.length, ...proxy.counts };
    const { recommendations, conversions } = plan;
    const outage = { ms: session.outageMs, ...tally(ofOutage) };
    print(
      JSON.stringify({
        recommendations,
        conversions,
        ...tally(evidence),
        impressions: evidence.impressions.length,
        refused: traffic.refused,
        ...faults,
        outage,
        ok: failures.length === 0,
      }),
    );
    return failures.length === 0;
  } finally {
    bar.stop();
  }
}

function timingOf({ plan }: Shop): Timing {
  return { windowMs: plan.windowMs, graceMs: GRACE_MS };
}

async function createModel({ base, key }: Session, { model, plan }: Shop): Promise<void> {
  const encoder = { dimension: 32, interactions: "all" };
  const json = { window: { ms: plan.windowMs }, encoder, publish: { ms: 1000 } };
  await call(base, `/v1/models/${model}`, { method: "PUT", key, json });
  const actions = Array.from({ length: ACTIONS }, (_, i) => ({ id: `product-${i}`, features: { brand: `brand-${i % 3}` } }));
  await call(base, `/v1/models/${model}/actions`, { method: "PUT", key, json: { actions } });
}

/** Kills the worker after equal parts of the recommendations have been answered. */
async function killMeanwhile({ main: { plan, traffic }, victim, upgraded, signal }: Session): Promise<void> {
  for (let kill = 1; kill <= KILLS; kill++) {
    while (traffic.answered.size < (kill * plan.recommendations) / (KILLS + 1)) await sleep(20, undefined, { signal });
    await victim.kill();
    if (upgraded && kill === Math.ceil(KILLS / 2)) await storeOtherFormat(upgraded);
    await victim.start();
  }
}

/** Cuts a learner off when its recommendations have been answered and are registered. */
async function cutOffMeanwhile({ cutOff, outageMs, proxy, signal }: Session): Promise<void> {
  while (cutOff.traffic.answered.size < cutOff.plan.recommendations) await sleep(20, undefined, { signal });
  await sleep(REGISTERED_AFTER_MS, undefined, { signal });
  const from = Date.now();
  proxy.cutOff(cutOff.model);
  await sleep(outageMs, undefined, { signal });
  cutOff.outage = { from, until: Date.now() };
  proxy.cutOff(null);
}

function gather({ base, key, victim: { kills } }: Session, shop: Shop): Promise<Evidence> {
  return evidenceOf({ ...shop, base, key, kills, timing: timingOf(shop) });
}

await command({ usage: USAGE, options, known: [StoppedError, StartError, ApiError, UnreachableError], run: main });
process.exit();
