import { uniformInt } from "pure-rand/distribution/uniformInt";
import { xoroshiro128plus } from "pure-rand/generator/xoroshiro128plus";
import { Webhook } from "standardwebhooks";
import { call } from "../../cli/worker/api.ts";
import { requestsPerSecond } from "../load.ts";
import { constant, keyValue, silent, vars, worker } from "../worker-services.ts";
import { type Service, startWorkerd } from "../workerd.ts";
import type { Prepared, Workload } from "../workload.ts";

// Requests per second of workerd alone: recommendations among 20 catalogue actions, d = 128, with a context of 5 named features, and
// conversions of them, one a webhook.

const SEED = 1;
const ACTIONS = 20;
const DIMENSION = 128;
const BODIES = 256;
const ROUNDS = 11;
const ROUND_MS = 700;
/** Time for the runtime to compile hot code, as in a worker that has run for long. */
const WARM_UP_MS = 2500;
/** Time of a round that only has to run. */
const QUICK_MS = 50;
const MODEL = "bench";
const RECOMMENDATIONS = `/v1/models/${MODEL}/recommendations`;
const CONVERSIONS = "/v1/conversions";
/** Impressions that are shown before their conversions are measured. */
const IMPRESSIONS = 1000;
/** Conversions made beforehand: more than a worker takes in all rounds. */
const CONVERSIONS_MADE = 60_000;

const row: Service = { name: "one-row", entry: "bench/services/row.ts", objects: { WRITER: "Writer" } };

/** Requests per second of a worker, beside a peer that takes the same requests. */
interface Measured {
  readonly subject: Service;
  readonly serving: "edge" | "learner";
  readonly peer: Service;
  /** Target: the least share of the peer's rate. */
  readonly share: number;
  readonly connections?: number;
  /** Makes the requests, at the port of the worker. Default: recommendations. */
  readonly requests?: (port: number) => Promise<readonly Buffer[]>;
}

const learning: Measured = { subject: worker, serving: "learner", peer: row, share: 0.5 };

export const workerWorkloads: readonly Workload[] = [
  workload("worker-edge", { subject: silent, serving: "edge", peer: constant, share: 0.7 }),
  workload("worker-edge-registering", { subject: worker, serving: "edge", peer: constant, share: 0.5 }),
  workload("worker-learner", learning),
  ...[1, 4, 128].map((connections) => workload(`worker-learner connections=${connections}`, { ...learning, connections })),
  workload("worker-conversions", { ...learning, requests: conversions }),
];

function workload(name: string, { subject, serving, peer, share, connections = 32, requests = recommendations }: Measured): Workload {
  return {
    name,
    unit: "requests/s",
    rounds: ROUNDS,
    peer: peer.name,
    targets: [{ variant: "afterclick", peer: peer.name, atLeast: share }],
    async prepare({ alone, quick } = {}): Promise<Prepared> {
      const measured = alone ? [subject] : [subject, peer];
      const { ports, close } = await startWorkerd([keyValue, ...measured]);
      try {
        const port = ports.get(subject.name) as number;
        await createModel(port, serving);
        const sent = await requests(port);
        // Each service takes all requests in turn: none of them twice, if they are many.
        const next = new Map(measured.map((service) => [service, inTurn(sent)]));
        const rate = (service: Service, milliseconds: number) => {
          return requestsPerSecond({
            ...{ port: ports.get(service.name) as number, connections, milliseconds },
            next: next.get(service) as () => Buffer,
          });
        };
        for (const service of measured) await rate(service, quick ? QUICK_MS : WARM_UP_MS);
        const variant = (service: Service) => () => rate(service, quick ? QUICK_MS : ROUND_MS);
        return { variants: { afterclick: variant(subject), ...(!alone && { [peer.name]: variant(peer) }) }, close };
      } catch (error) {
        await close();
        throw error;
      }
    },
  };
}

function inTurn(requests: readonly Buffer[]): () => Buffer {
  let sent = 0;
  return () => requests[sent++ % requests.length];
}

async function createModel(port: number, serving: "edge" | "learner"): Promise<void> {
  const base = new URL(`http://127.0.0.1:${port}`);
  const key = vars.AFTERCLICK_SECRET_KEY;
  const ranges = { price: { min: 0, max: 200 }, hour: { min: 0, max: 24 } };
  const encoder = { dimension: DIMENSION, numeric: ranges, interactions: "all" };
  await call(base, `/v1/models/${MODEL}`, { method: "PUT", key, json: { window: { ms: 3_600_000 }, serving, encoder } });
  await call(base, `/v1/models/${MODEL}/actions`, { method: "PUT", key, json: { actions } });
}

const random = xoroshiro128plus(SEED);
const draw = (most: number) => uniformInt(random, 0, most);

const actions = Array.from({ length: ACTIONS }, (_, i) => ({
  id: `product-${i}`,
  features: { brand: `brand-${draw(6)}`, category: `category-${draw(4)}`, price: draw(200) },
}));

/** Contexts differ, so that no variant gains by caching one. */
const contexts = Array.from({ length: BODIES }, () => ({
  country: `country-${draw(30)}`,
  device: `device-${draw(2)}`,
  hour: draw(24),
  returning: draw(1) === 1,
  source: `source-${draw(8)}`,
}));

async function recommendations(): Promise<readonly Buffer[]> {
  const authorization = `Bearer ${vars.AFTERCLICK_PUBLISHABLE_KEY}`;
  return contexts.map((context) => requestOf(RECOMMENDATIONS, { authorization }, JSON.stringify({ context })));
}

/** A signed webhook for each conversion. An impression has several, each with another reward and later than the one before. */
async function conversions(port: number): Promise<readonly Buffer[]> {
  const base = new URL(`http://127.0.0.1:${port}`);
  const shown: string[] = [];
  while (shown.length < IMPRESSIONS) {
    const json = { context: contexts[shown.length % BODIES], limit: ACTIONS };
    const { body } = await call<{ readonly actions: readonly { readonly impressionId: string }[] }>(base, RECOMMENDATIONS, {
      ...{ method: "POST", key: vars.AFTERCLICK_SECRET_KEY, json },
    });
    shown.push(...body.actions.map(({ impressionId }) => impressionId));
  }
  const start = Date.now();
  const webhook = new Webhook(vars.AFTERCLICK_WEBHOOK_SECRET);
  const now = new Date(start);
  return Array.from({ length: CONVERSIONS_MADE }, (_, n) => {
    const data = { impressionId: shown[n % shown.length], reward: 1 - (n % 2) / 2, timestamp: start + Math.floor(n / shown.length) };
    const body = JSON.stringify({ type: "conversion", timestamp: now.toISOString(), data });
    const headers = {
      "webhook-id": `msg_${n}`,
      "webhook-timestamp": String(Math.floor(start / 1000)),
      "webhook-signature": webhook.sign(`msg_${n}`, now, body),
    };
    return requestOf(CONVERSIONS, headers, body);
  });
}

/** A request as bytes. */
function requestOf(path: string, headers: Readonly<Record<string, string>>, body: string): Buffer {
  const head = [
    `POST ${path} HTTP/1.1`,
    "host: bench",
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    "content-type: application/json",
    `content-length: ${Buffer.byteLength(body)}`,
  ];
  return Buffer.from(`${head.join("\r\n")}\r\n\r\n${body}`);
}
