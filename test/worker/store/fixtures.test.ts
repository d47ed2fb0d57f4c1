import {
  createExecutionContext,
  evictDurableObject,
  runDurableObjectAlarm,
  runInDurableObject,
  waitOnExecutionContext,
} from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { verify } from "../../../cli/verify/verification.ts";
import { createApp } from "../../../worker/edge/app.ts";
import type { Environment } from "../../../worker/environment.ts";
import { type Base64, fromBase64, toBase64 } from "../../fixtures/bytes.ts";
import { bindings, Caller, contextOf, goOn, type Place, seededBytes } from "../../fixtures/course.ts";
import { type Database, writeDatabase } from "../../fixtures/database.ts";
import { publicationFormat, publicationWith } from "../../fixtures/formats.ts";
import { HOUR_MS, kinds, START } from "../../fixtures/kinds.ts";
import { linesOf } from "../../fixtures/relearn.ts";
import { type Entry, writeStore } from "../../fixtures/store.ts";
import { learnerOf } from "../support/client.ts";
import { eventSource } from "../support/event-source.ts";
import { expectDelays } from "../support/fold.ts";

// The worker of today, in workerd, reads the stored data and exports of each generation.

declare global {
  interface ImportMeta {
    glob<T>(pattern: string, options: object): Record<string, T>;
  }
}

const files = import.meta.glob<string>("../../fixtures/*/*/{learner,answers,events,relearnt}.{json,jsonl}.gz", {
  query: "?url&inline",
  import: "default",
  eager: true,
});
const formats = import.meta.glob<{ readonly publication: readonly number[] }>("../../fixtures/*/formats.json", {
  import: "default",
  eager: true,
});

/** The stored data of a worker, and the ids of its impressions. */
interface Stored extends Database {
  readonly takenAt: number;
  readonly shown: readonly string[];
  readonly kv: readonly Entry[];
}

async function textOf(folder: string, name: string): Promise<string> {
  const [, base64] = files[`${folder}${name}.gz`].split(",");
  return new Response(new Response(fromBase64({ base64 })).body?.pipeThrough(new DecompressionStream("gzip"))).text();
}

const jsonOf = async (folder: string, name: string) => JSON.parse(await textOf(folder, name));

const folders = Array.from(new Set(Object.keys(files).map((path) => path.replace(/[^/]+$/, ""))));
const named = folders.map((folder) => ({
  folder,
  generation: folder.split("/").at(-3) as string,
  kind: folder.split("/").at(-2) as string,
}));
const newest = named
  .map(({ generation }) => generation)
  .toSorted()
  .at(-1);
/** Folders whose databases and publications the worker of today continues. */
const current = named.filter(({ generation }) => generation === newest);

beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"], now: START }));
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

/** A new isolate at the edge, and the learners of workerd. */
function workerd(): Place {
  vi.spyOn(crypto, "getRandomValues").mockImplementation(seededBytes(2));
  const isolate = createApp();
  return {
    now: () => Date.now(),
    setTime: (now) => void vi.setSystemTime(now),
    async fetch(request) {
      const context = createExecutionContext();
      const response = await isolate.fetch(
        request,
        { ...env, ...bindings, RATE_LIMIT: undefined, ORIGIN_RATE_LIMIT: undefined } as Environment,
        context,
      );
      await waitOnExecutionContext(context);
      return response;
    },
    async ring(model) {
      expect(await runDurableObjectAlarm(learnerOf(model))).toBe(true);
    },
  };
}

/** Writes the stored data, and nothing else, where a worker of today finds them. */
async function store(model: string, { takenAt, kv, ...database }: Stored): Promise<void> {
  vi.setSystemTime(takenAt);
  const { keys } = await env.EVENTS.list();
  await Promise.all(keys.map(({ name }) => env.EVENTS.delete(name)));
  await writeStore(env.EVENTS as never, kv);
  await runInDurableObject(learnerOf(model), async (_, { storage }) => {
    await storage.deleteAll();
    writeDatabase((query, ...values) => storage.sql.exec<Record<string, ArrayBuffer>>(query, ...values).toArray(), database);
  });
  await evictDurableObject(learnerOf(model));
}

it("has a generation of what is published today; where the format changes, make one (test/fixtures/README.md)", async () => {
  const caller = new Caller(workerd(), "today");
  await caller.change("PUT", "", { window: { ms: HOUR_MS }, local: true });
  expect(formats[`../../fixtures/${newest}/formats.json`].publication).toEqual(publicationFormat(await caller.change("GET", "/published")));
});

describe.each(current)("what was stored of $generation, $kind", ({ folder, kind }) => {
  it("Learner and isolate: export the same log, go on with identical decisions, and learn the same", async () => {
    const [stored, answers] = [await jsonOf(folder, "learner.json"), await jsonOf(folder, "answers.json")];
    await store(kind, stored);
    const place = workerd();
    const { body } = await new Caller(place, kind).call("GET", "/events");
    expect(body).toBe(await textOf(folder, "events.jsonl"));
    await expectDelays(kind, linesOf(body as string));
    // Answers of today may state more.
    expect(await goOn(place, kind, kinds[kind], stored.shown)).toMatchObject(answers);
  });
});

/** The stored data with another format version in the bytes of each snapshot. */
function withFormat(change: number, { rows, ...stored }: Stored): Stored {
  const snapshots = rows.snapshots.map((row) => {
    const bytes = fromBase64(row[4] as Base64);
    bytes[4] += change;
    return [...row.slice(0, 4), toBase64(bytes)];
  });
  return { ...stored, kv: [], rows: { ...rows, snapshots } };
}

describe.each(current)("a state of another format, of $generation, $kind", ({ folder, kind }) => {
  it("Learner: exports the same log, learns it again, and goes on learning", async () => {
    await store(kind, withFormat(-1, await jsonOf(folder, "learner.json")));
    const caller = new Caller(workerd(), kind);
    const text = (await caller.call("GET", "/events")).body as string;
    const before = linesOf(text);
    expect(before[0]).toMatchObject({ digest: null });
    // A receipt is of all lines before it, and the head lacks its digest.
    const withoutReceipts = (lines: readonly Record<string, unknown>[]) => lines.slice(1).map((line) => ({ ...line, receipt: null }));
    expect(withoutReceipts(before)).toEqual(withoutReceipts(linesOf(await textOf(folder, "events.jsonl"))));
    await expectDelays(kind, before);
    expect(await caller.change("POST", "/recommendations", { context: contextOf(kinds[kind], 0) })).toMatchObject({ arm: "catalogue" });
    for (let i = 0; i < 9 && (await caller.change("GET", "")).relearning; i++) await runDurableObjectAlarm(learnerOf(kind));
    const { counts, relearning } = await caller.change("GET", "");
    // Erased impressions were counted.
    const ids = before.flatMap(({ type, state, id }) => ((type === "impression" && state === "live") || type === "erased" ? [id] : []));
    expect([counts.impressions, relearning]).toEqual([new Set(ids).size + 1, null]);
    const { actions } = await caller.change("POST", "/recommendations", { context: contextOf(kinds[kind], 1) });
    expect(await caller.convert("new", { impressionId: actions[0].impressionId, reward: 1 })).toEqual(["applied"]);
    expect((await caller.change("GET", "")).counts).toMatchObject({ converted: counts.converted + 1 });
    await expectDelays(kind, linesOf((await caller.call("GET", "/events")).body as string));
  });
});

describe.each(current.filter(({ kind }) => kind === "default"))("versions that were raised, of $generation", ({ folder, kind }) => {
  const raised = async (change: (stored: Stored) => Promise<Stored> | Stored): Promise<Caller> => {
    await store(kind, await change(await jsonOf(folder, "learner.json")));
    return new Caller(workerd(), kind);
  };

  it.each(["format", "schema"])("an isolate does not serve by a publication of a later %s, but asks the learner", async (field) => {
    const caller = await raised(async ({ kv, ...stored }) => {
      const entry = kv.find(({ name }) => name === `model/${kind}`) as Entry;
      const later = await publicationWith(fromBase64(entry.value), { [field]: 9, version: 1_000_000 });
      return { ...stored, kv: [{ ...entry, value: toBase64(later) }] };
    });
    const { modelVersion } = await caller.change("POST", "/recommendations", {});
    const { published, incidents } = await caller.change("GET", "");
    expect([modelVersion, incidents.keptOut]).toEqual([published.version, 1]);
  });

  it("a learner does not start from snapshots of a later format, and says so", async () => {
    await raised((stored) => withFormat(1, stored));
    expect(await new Caller(workerd(), kind).change("GET", "")).toMatchObject({ digest: null });
  });
});

describe.each(named)("the log of $generation, $kind", ({ folder, generation, kind }) => {
  const log = () => textOf(folder, "events.jsonl");

  it("importLog: is taken by a model of today, which learns from it", async () => {
    const [text, relearnt] = [await log(), await jsonOf(folder, "relearnt.json")];
    const lines = linesOf(text);
    const { policy, options, window, encoder: stored, goals, seed, exportedAt } = { ...lines[0].config, ...lines[0] };
    // A new model has the present version of the encoder.
    const { version: _, ...encoder } = stored ?? {};
    vi.setSystemTime(exportedAt);
    const caller = new Caller(workerd(), `${generation}-${kind}`);
    await caller.change("PUT", "", { policy, options, window, seed, ...(stored && { encoder }), ...(goals && { goals }) });
    const { impressions, conversions } = await caller.change("POST", "/events", text);
    const ofType = (type: string) => lines.filter((line) => line.type === type);
    // A deferred impression that was never shown is left out when its bucket is closed. This bucket is open.
    expect(impressions).toBe(ofType("impression").length);
    const statuses = Map.groupBy(ofType("conversion"), ({ status }) => status);
    expect(conversions).toEqual(Object.fromEntries(Array.from(statuses, ([status, all]) => [status, all.length])));
    const { counts, digest } = await caller.change("GET", "");
    expect(counts).toMatchObject({ impressions: relearnt.impressions, converted: relearnt.converted });
    if (generation === newest) expect(digest).toBe(relearnt.digest);
  });

  it("eventSource: tells each decision that can be weighed, and why others cannot", async () => {
    const text = await log();
    const { decisions, leftOut } = await eventSource(text.trimEnd().split("\n"), { progress: () => {} });
    const shown = linesOf(text).filter(({ type }) => type === "impression");
    const weighed = shown.filter(({ state, decision }) => state === "live" && decision?.place === 0 && decision.candidates !== null);
    expect(decisions.map(({ shownAt, probability }) => [shownAt, probability])).toEqual(
      weighed.map(({ shownAt, decision }) => [shownAt, decision.probability]),
    );
    expect(Array.from(leftOut.values()).reduce((sum, count) => sum + count, weighed.length)).toBe(shown.length);
  });
});

const erased = (kind: string): boolean => kinds[kind].erased === true;

it.each(current.filter(({ kind }) => !erased(kind)))(
  "verify: the log of $generation, $kind comes out again bit for bit",
  async ({ folder }) => {
    const lines = (await textOf(folder, "events.jsonl")).trimEnd().split("\n");
    const { tally } = await verify(() => lines);
    const marks = linesOf(lines.join("\n")).filter(({ mark }) => mark === "snapshot").length;
    expect(tally).toMatchObject({ elsewhere: 1, digests: marks + 1 });
    expect(tally.decisions).toBeGreaterThan(40);
  },
);

it.each(current.filter(({ kind }) => erased(kind)))("verify: the log of $generation, $kind lacks what was erased", async ({ folder }) => {
  const lines = (await textOf(folder, "events.jsonl")).trimEnd().split("\n");
  await expect(verify(() => lines)).rejects.toThrow(/was erased/);
});
