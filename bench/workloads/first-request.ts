import { readdir, readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { call } from "../../cli/worker/api.ts";
import { stream } from "../../src/simulation/stream.ts";
import { actionsOf, contextsOf, encoderOptions } from "../shop.ts";
import { confirmed, constant, keyValue, vars, worker } from "../worker-services.ts";
import { type Service, startWorkerd } from "../workerd.ts";
import type { Target, Workload } from "../workload.ts";

// The first request of a fresh isolate, whose model and catalogue are in KV, and the start of the worker. Processor time of all threads of
// workerd, which has no other work meanwhile.

const LIMIT = 6;
const MODEL = "bench";
const IMPRESSIONS = 2000;
const QUICK_IMPRESSIONS = 20;
/** Time in which threads finish what they do after an answer. */
const SETTLED_MS = 100;
/** The free plan's limit of a request, and that of a catalogue ten times as long, in ms. */
const WITHIN_MS = { 1000: 10, 10000: 15 };

export const firstRequestWorkloads: readonly Workload[] = [
  ...([1000, 10_000] as const).map((k) => firstRequest(k, [{ variant: "afterclick", atMost: WITHIN_MS[k] }])),
  start(),
];

/** A record of KV with its metadata. */
type Entry = readonly [key: string, value: ArrayBuffer, metadata: string | null];

const METADATA = "CF-KV-Metadata";

function firstRequest(k: number, targets: readonly Target[]): Workload {
  return {
    name: `first-request k=${k}`,
    unit: "ms",
    rounds: 9,
    warmUps: 1,
    peer: "afterclick",
    targets,
    async prepare({ quick } = {}) {
      const entries = await publishedBy(k, quick ? QUICK_IMPRESSIONS : IMPRESSIONS);
      return { variants: { afterclick: () => firstOf(entries) } };
    },
  };
}

/** Has a worker publish a model of the default options that has learnt. Returns the records of KV. */
async function publishedBy(k: number, impressions: number): Promise<Entry[]> {
  const { ports, close } = await startWorkerd([keyValue, worker]);
  try {
    const base = new URL(`http://127.0.0.1:${ports.get("worker")}`);
    const key = vars.AFTERCLICK_SECRET_KEY;
    const { numeric } = encoderOptions(256);
    await call(base, `/v1/models/${MODEL}`, { method: "PUT", key, json: { window: { ms: 86_400_000 }, encoder: { numeric } } });
    const actions = actionsOf(k).map(({ id, ...features }) => ({ id, features }));
    await call(base, `/v1/models/${MODEL}/actions`, { method: "PUT", key, json: { actions } });
    await call(base, `/v1/models/${MODEL}/events`, { method: "POST", key, body: logOf(k, impressions) });
    // Publishes what was learnt.
    await call(base, `/v1/models/${MODEL}/actions`, { method: "PUT", key, json: { actions } });
    const records = [`model/${MODEL}`, `catalogue/${MODEL}`].map(async (name): Promise<Entry> => {
      const response = await fetch(`http://127.0.0.1:${ports.get("key-value")}/${encodeURIComponent(name)}`);
      if (!response.ok) throw new Error(`${name}: expected a record in KV, got ${response.status}`);
      return [name, await response.arrayBuffer(), response.headers.get(METADATA)];
    });
    return await Promise.all(records);
  } finally {
    await close();
  }
}

/** A log of impressions, of which one in twenty converts. */
function logOf(k: number, impressions: number): string {
  const draw = stream("bench", "log", k);
  const [contexts, since] = [contextsOf(), Date.now() - 1000 * impressions];
  const lines = Array.from({ length: impressions }, (_, n) => {
    const shown = { type: "impression", id: `${n}`, action: `product-${draw.below(k)}`, shownAt: since + 1000 * n };
    const converted = { type: "conversion", impression: `${n}`, reward: 1, at: since + 1000 * n };
    return [{ ...shown, context: contexts[n % contexts.length] }, ...(draw() < 0.05 ? [converted] : [])];
  });
  return lines
    .flat()
    .map((line) => JSON.stringify(line))
    .join("\n");
}

/** Milliseconds of the first request of a fresh process. Those of KV and HTTP are in it, about 2 ms. */
async function firstOf(entries: readonly Entry[]): Promise<number> {
  const { ports, pid, close } = await startWorkerd([keyValue, confirmed, constant]);
  try {
    const url = (name: string) => `http://127.0.0.1:${ports.get(name)}`;
    for (const [name, body, metadata] of entries) {
      const headers: Record<string, string> = metadata === null ? {} : { [METADATA]: metadata };
      await fetch(`${url("key-value")}/${encodeURIComponent(name)}`, { method: "PUT", body, headers });
    }
    const ask = async (name: string) => {
      const response = await fetch(`${url(name)}/v1/models/${MODEL}/recommendations`, {
        method: "POST",
        headers: { authorization: `Bearer ${vars.AFTERCLICK_PUBLISHABLE_KEY}`, "content-type": "application/json" },
        body: JSON.stringify({ context: contextsOf()[0], limit: LIMIT }),
      });
      if (response.status !== 201) throw new Error(`${name}: expected a 201, got ${await response.text()}`);
    };
    // The process has answered somebody before.
    for (const _ of [1, 2]) await ask("hono-constant");
    await sleep(3 * SETTLED_MS);
    const before = await processorTime(pid);
    await ask("confirmed");
    await sleep(SETTLED_MS);
    return (await processorTime(pid)) - before;
  } finally {
    await close();
  }
}

/** Loading the modules of the worker, beside those of a worker that answers a constant. */
function start(): Workload {
  const started = (service: Service) => async () => {
    const { pid, close } = await startWorkerd([keyValue, service]);
    try {
      return await processorTime(pid);
    } finally {
      await close();
    }
  };
  return {
    name: "worker-start",
    unit: "ms",
    rounds: 9,
    warmUps: 1,
    peer: "hono-constant",
    async prepare({ alone } = {}) {
      return { variants: { afterclick: started(confirmed), ...(!alone && { "hono-constant": started(constant) }) } };
    },
  };
}

/** Milliseconds of processor time of all threads of a process so far. */
async function processorTime(pid: number): Promise<number> {
  const threads = await readdir(`/proc/${pid}/task`);
  const times = threads.map(async (thread) => Number((await readFile(`/proc/${pid}/task/${thread}/schedstat`, "utf8")).split(" ")[0]));
  return (await Promise.all(times)).reduce((sum, each) => sum + each, 0) / 1e6;
}
