import { uniformInt } from "pure-rand/distribution/uniformInt";
import { xoroshiro128plus } from "pure-rand/generator/xoroshiro128plus";
import { call } from "../../cli/worker/api.ts";
import { requestsPerSecond } from "../load.ts";
import { constant, keyValue, silent, vars, worker } from "../worker-services.ts";
import { type Service, startWorkerd } from "../workerd.ts";
import type { Prepared, Workload } from "../workload.ts";

// Recommendations per second of workerd alone: 20 catalogue actions, d = 128, a context of 5 named features.

const SEED = 1;
const ACTIONS = 20;
const DIMENSION = 128;
const BODIES = 256;
const CONNECTIONS = 32;
const ROUNDS = 11;
const ROUND_MS = 700;
/** Time for the runtime to compile hot code, as in a worker that has run for long. */
const WARM_UP_MS = 2500;
/** Time of a round that only has to run. */
const QUICK_MS = 50;
const MODEL = "bench";
const PATH = `/v1/models/${MODEL}/recommendations`;

const row: Service = { name: "one-row", entry: "bench/services/row.ts", objects: { WRITER: "Writer" } };

export const workerWorkloads: readonly Workload[] = [
  workload("worker-edge", silent, "edge", constant, 0.7),
  workload("worker-edge-registering", worker, "edge", constant, 0.5),
  workload("worker-learner", worker, "learner", row, 0.5),
];

/** Requests per second of a worker and of a peer that takes the same requests. The target is a share of the peer's rate. */
function workload(name: string, subject: Service, serving: "edge" | "learner", peer: Service, share: number): Workload {
  return {
    name,
    unit: "requests/s",
    rounds: ROUNDS,
    peer: peer.name,
    targets: [{ variant: "afterclick", peer: peer.name, atLeast: share }],
    async prepare({ alone, quick } = {}): Promise<Prepared> {
      const measured = alone ? [subject] : [subject, peer];
      const { ports, close } = await startWorkerd([keyValue, ...measured]);
      const rate = (service: Service, milliseconds: number) =>
        requestsPerSecond({ port: ports.get(service.name) as number, requests, connections: CONNECTIONS, milliseconds });
      try {
        await createModel(ports.get(subject.name) as number, serving);
        for (const service of measured) await rate(service, quick ? QUICK_MS : WARM_UP_MS);
      } catch (error) {
        await close();
        throw error;
      }
      const variant = (service: Service) => () => rate(service, quick ? QUICK_MS : ROUND_MS);
      return { variants: { afterclick: variant(subject), ...(!alone && { [peer.name]: variant(peer) }) }, close };
    },
  };
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

/** The requests as bytes. Contexts differ, so that no variant gains by caching one. */
const requests = Array.from({ length: BODIES }, () => {
  const context = {
    country: `country-${draw(30)}`,
    device: `device-${draw(2)}`,
    hour: draw(24),
    returning: draw(1) === 1,
    source: `source-${draw(8)}`,
  };
  const body = JSON.stringify({ context });
  const head = [
    `POST ${PATH} HTTP/1.1`,
    "host: bench",
    `authorization: Bearer ${vars.AFTERCLICK_PUBLISHABLE_KEY}`,
    "content-type: application/json",
    `content-length: ${Buffer.byteLength(body)}`,
  ];
  return Buffer.from(`${head.join("\r\n")}\r\n\r\n${body}`);
});
