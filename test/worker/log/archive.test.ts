import { evictDurableObject, runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { LIMITS } from "../../../worker/domain/archive/archive-file.ts";
import { type ImpressionLine, impressionOf } from "../../../worker/domain/log/log-line.ts";
import { archivedLines, bytesOf, keysOf, linesOf, useArchive, WHOLE } from "../support/archived.ts";
import { call, convert, createModel, describeModel, HOUR_MS, learnerOf, recommend, show } from "../support/client.ts";
import { DAY_MS, MINUTE_MS, ring, START, tick, useClock } from "../support/clock.ts";
import { complaints } from "../support/complaints.ts";
import { crashing } from "../support/fault.ts";
import { type Line, logOf } from "../support/fold.ts";
import { lived } from "../support/lived.ts";

useClock();
useArchive();

const RETENTION = { retention: { ms: DAY_MS } };
/** When the first day may be forgotten. */
const DUE = START + DAY_MS + 65 * MINUTE_MS + DAY_MS;

/** Runs the alarm until the day is archived and forgotten. */
async function forget(model: string, now = DUE): Promise<void> {
  await ring(model, START + DAY_MS + 65 * MINUTE_MS);
  for (let rings = 0; rings < 20 && (await horizonOf(model)) < START + DAY_MS; rings++) await ring(model, now);
}

async function horizonOf(model: string): Promise<number> {
  return (await logOf(model))[0].horizon;
}

async function digestOf(key: string): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", await bytesOf(key)));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

const bySeq = (a: { readonly seq?: number }, b: { readonly seq?: number }) => (a.seq as number) - (b.seq as number);

it.each([
  ["delay-lin-ts", {}],
  ["otf-lin-ucb", { shadows: [{ name: "other", policy: "otf-lin-ts" }] }],
  ["gp-ts-sdf", { options: { kernel: { name: "matern52" }, capacity: 4 } }],
])("moves every line of %s to exactly one file before it is forgotten, bit for bit", async (policy, config) => {
  const model = await lived({ policy, ...config, ...RETENTION }, 4);
  await ring(model, START + DAY_MS + 65 * MINUTE_MS);
  const [, ...before] = await logOf(model);
  await forget(model);
  const [head, ...after] = await logOf(model);
  expect(head.horizon).toBe(START + DAY_MS);
  expect(after.filter(({ type }) => type !== "mark")).toEqual([]);
  const archived = await archivedLines(model);
  expect(new Set(archived.map(({ seq }) => seq)).size).toBe(archived.length);
  const whole = [...archived, ...after.filter((line) => line.type !== "mark" || !archived.some(({ seq }) => seq === line.seq))].sort(bySeq);
  expect(whole.slice(0, before.length)).toEqual(before);
  expect(head.archive.map(({ key }: { key: string }) => key)).toEqual(await keysOf(model));
  expect(head.archive.length).toBeGreaterThan(3);
  expect((await keysOf(model))[0]).toBe(`model=${model}/generation=${head.generation}/day=2037-01-01/0000.parquet`);
  for (const { key, sha256 } of head.archive) expect(await digestOf(key)).toBe(sha256);
});

it("waits for the whole day, and writes one file for it", async () => {
  Object.assign(LIMITS, WHOLE);
  const model = await createModel(RETENTION);
  for (let hour = 0; hour < 30; hour++) {
    await show(model, {});
    tick(HOUR_MS);
  }
  await ring(model, START + DAY_MS + 65 * MINUTE_MS + DAY_MS - 1);
  expect(await keysOf(model)).toEqual([]);
  await ring(model, DUE);
  expect(await keysOf(model)).toHaveLength(1);
  const shown = (await archivedLines(model)).filter(({ type }) => type === "impression");
  expect(shown).toHaveLength(24);
  await evictDurableObject(learnerOf(model));
  await ring(model, DUE + DAY_MS);
  expect((await archivedLines(model)).filter(({ type }) => type === "impression")).toHaveLength(30);
  expect(await keysOf(model)).toHaveLength(2);
});

async function small(): Promise<string> {
  const model = await createModel({ ...RETENTION, serving: "learner" });
  const ids = await recommend(model, { limit: 3, context: { country: "PT" }, keys: ["order 1"] });
  await convert({ impressionId: ids[1], reward: 0.5 });
  await call("PATCH", `/v1/models/${model}`, { draws: 20 });
  return model;
}

const essence = (lines: readonly Line[]) =>
  lines.map(({ seq, type, mark, place, state, status, reward }) => [seq, type, mark, place, state, status, reward]);

it("loses and doubles nothing when it crashes at any step of a day", async () => {
  Object.assign(LIMITS, { fileRows: 2, groupRows: 1 });
  const steady = await small();
  await forget(steady);
  const expected = essence(await archivedLines(steady));
  const files = (await keysOf(steady)).length;
  expect(files).toBeGreaterThan(2);
  let crashes = 0;
  for (let n = 1, crashed = true; crashed; n++) {
    tick(START - Date.now());
    const model = await small();
    await ring(model, START + DAY_MS + 65 * MINUTE_MS);
    tick(DUE - Date.now());
    crashed = await crashing(n, learnerOf(model), async (learner) => {
      for (let rings = 0; rings < 4; rings++) await learner.alarm();
    });
    complaints();
    await forget(model, DUE + MINUTE_MS);
    expect(essence(await archivedLines(model)), `crash before step ${n}`).toEqual(expected);
    expect((await keysOf(model)).length).toBe(files);
    crashes++;
  }
  expect(crashes).toBeGreaterThan(15);
});

it("forgets nothing while the bucket fails, and tries again", async () => {
  const model = await small();
  const before = (await logOf(model)).length;
  await ring(model, START + DAY_MS + 65 * MINUTE_MS);
  const fail = () => Promise.reject(new Error("R2 is down"));
  const real = env.BUCKET.put;
  Object.assign(Object.getPrototypeOf(env.BUCKET), { put: fail });
  await ring(model, DUE);
  expect(complaints()).toEqual(["an alarm's task failed Error"]);
  Object.assign(Object.getPrototypeOf(env.BUCKET), { put: real });
  expect((await logOf(model)).length).toBeGreaterThanOrEqual(before);
  expect(await keysOf(model)).toEqual([]);
  await forget(model, DUE + MINUTE_MS);
  expect(await keysOf(model)).toHaveLength(1);
});

/** A model whose first day is due, and of which one alarm has written two files. */
async function begun(): Promise<string> {
  Object.assign(LIMITS, { fileRows: 2, groupRows: 1 });
  const model = await small();
  await ring(model, START + DAY_MS + 65 * MINUTE_MS);
  await ring(model, DUE);
  expect(await keysOf(model)).toHaveLength(2);
  expect(await horizonOf(model)).toBeLessThan(START);
  return model;
}

it("forgets no row of a file that the bucket has lost, writes it again, and deletes a file that is no part", async () => {
  Object.assign(LIMITS, { fileRows: 2, groupRows: 1 });
  const steady = await small();
  await forget(steady);
  const expected = essence(await archivedLines(steady));
  tick(START - Date.now());
  const model = await begun();
  const [first] = await keysOf(model);
  await env.BUCKET.put(first.replace("0000.parquet", "0099.parquet"), "left by another attempt");
  await env.BUCKET.delete(first);
  for (let n = 1; complaints().length === 0; n++) {
    expect(n).toBeLessThan(10);
    await ring(model, DUE + n);
  }
  expect(await horizonOf(model)).toBeLessThan(START);
  await forget(model, DUE + MINUTE_MS);
  expect(await horizonOf(model)).toBe(START + DAY_MS);
  expect(await keysOf(model)).toHaveLength((await keysOf(steady)).length);
  expect(essence(await archivedLines(model))).toEqual(expected);
});

it("replaces no object that another call has written unseen", async () => {
  const model = await begun();
  const [first] = await keysOf(model);
  const key = first.replace("0000.parquet", "0002.parquet");
  await env.BUCKET.put(key, "by another call");
  const { head } = env.BUCKET;
  Object.assign(Object.getPrototypeOf(env.BUCKET), { head: async () => null });
  await ring(model, DUE + 1);
  Object.assign(Object.getPrototypeOf(env.BUCKET), { head });
  expect(complaints()).toHaveLength(1);
  expect(new TextDecoder().decode(await bytesOf(key))).toBe("by another call");
  await forget(model, DUE + MINUTE_MS);
  expect((await archivedLines(model)).filter(({ type }) => type === "impression")).toHaveLength(3);
});

it("begins a day again whose rows a rollback has changed meanwhile", async () => {
  const model = await begun();
  const { kept } = await describeModel(model);
  expect((await call("POST", `/v1/models/${model}/rollback`, { version: kept.at(-1)?.version })).status).toBe(200);
  await forget(model, DUE + MINUTE_MS);
  const archived = await archivedLines(model);
  expect(archived.flatMap((line) => (line.type === "impression" ? [line.state] : []))).toEqual(["void", "void", "void"]);
  expect(new Set(archived.map(({ seq }) => seq)).size).toBe(archived.length);
  expect((await logOf(model))[0].archive.map(({ key }: { key: string }) => key)).toEqual(await keysOf(model));
});

it("erases archived impressions of an id or a key, with their conversions, and nothing else", async () => {
  const model = await createModel({ ...RETENTION, serving: "learner" });
  const [first, second] = await recommend(model, { limit: 2 });
  const [keyed] = await recommend(model, { keys: ["order 7"] });
  const [other] = await recommend(model, { keys: ["order 8"] });
  await convert({ impressionId: first, reward: 1 });
  await convert({ model, key: "order 7", reward: 0.5 });
  await convert({ model, key: "order 8", reward: 0.25 });
  await forget(model);
  const before = await archivedLines(model);
  expect((await call("DELETE", `/v1/impressions/${first}`)).status).toBe(204);
  expect((await call("DELETE", `/v1/models/${model}/keys/order%207`)).body).toEqual({ erased: 1 });
  const after = await archivedLines(model);
  expect(after.map(({ seq }) => seq)).toEqual(before.map(({ seq }) => seq));
  const changed = after.filter((line, i) => JSON.stringify(line) !== JSON.stringify(before[i]));
  expect(changed).toHaveLength(4);
  expect(changed.every(({ type, ...rest }) => type === "erased" && Object.keys(rest).join() === "seq,id")).toBe(true);
  expect((await call("DELETE", `/v1/models/${model}/keys/order%207`)).body).toEqual({ erased: 0 });
  expect((await call("DELETE", `/v1/impressions/${first}`)).status).toBe(404);
  expect([second, keyed, other]).toHaveLength(3);
  const [{ archive }] = await logOf(model);
  for (const { key, sha256 } of archive) expect(await digestOf(key)).toBe(sha256);
});

it("leaves a file that was altered as it is, erases everything else, and says which file and what to do", async () => {
  const model = await createModel({ ...RETENTION, serving: "learner" });
  Object.assign(LIMITS, { fileRows: 4 });
  const [listed] = await recommend(model, { limit: 2, keys: ["order 1"] });
  await convert({ impressionId: listed, reward: 1 });
  const [single] = await recommend(model, { keys: ["order 2"] });
  await convert({ impressionId: single, reward: 1 });
  await forget(model);
  const types = async (key: string) => (await linesOf(key)).map(({ type }) => type);
  const keys = await keysOf(model);
  const first = keys[(await Promise.all(keys.map(types))).findIndex((found) => found.includes("impression"))];
  const others = keys.filter((key) => key !== first);
  const whole = await bytesOf(first);
  // A count of which the reader would make gigabytes, or any other byte.
  const altered = whole.map((byte, i) => (i === 700 ? byte ^ 0x80 : byte));
  await env.BUCKET.put(first, altered);
  const erase = (key: string) => call("DELETE", `/v1/models/${model}/keys/${encodeURIComponent(key)}`);
  const refused = await erase("order 2");
  expect(refused).toMatchObject({ status: 500, body: { detail: expect.stringMatching(`^${first}: expected the file with SHA-256 `) } });
  expect(refused.body.detail).toContain("put back a copy of that one, or delete the file");
  expect((await describeModel(model)).incidents.damaged).toBe(1);
  expect(await bytesOf(first)).toEqual(altered);
  expect((await Promise.all(others.map(types))).flat()).toContain("erased");
  await env.BUCKET.put(first, whole);
  expect(await erase("order 1")).toMatchObject({ status: 200, body: { erased: 2 } });
  expect(await types(first)).toContain("erased");
  // Nothing is left to erase in a file that is not there.
  await env.BUCKET.delete(first);
  expect((await erase("order 1")).status).toBe(200);
  expect((await describeModel(model)).incidents.damaged).toBe(2);
});

it("knows its files again after a crash at any step of an erasure", async () => {
  let crashes = 0;
  for (let n = 1, crashed = true; crashed; n++) {
    tick(START - Date.now());
    const model = await small();
    await forget(model);
    const id = ((await archivedLines(model)).find(({ type }) => type === "impression") as ImpressionLine).id;
    const [{ generation }] = await logOf(model);
    crashed = await crashing(n, learnerOf(model), (learner) => learner.erase(id, generation));
    complaints();
    expect((await call("DELETE", `/v1/models/${model}/keys/order%201`)).status, `crash before step ${n}`).toBe(200);
    const left = (await archivedLines(model)).filter(({ type }) => type !== "mark");
    expect(left.every(({ type }) => type === "erased")).toBe(true);
    const { archive } = (await logOf(model))[0];
    for (const { key, sha256 } of archive) expect(await digestOf(key), `crash before step ${n}`).toBe(sha256);
    expect((await describeModel(model)).incidents.damaged).toBe(0);
    crashes++;
  }
  expect(crashes).toBeGreaterThan(4);
});

it("keeps the files of a deleted model until they are deleted too", async () => {
  const model = await small();
  await forget(model);
  expect((await call("DELETE", `/v1/models/${model}`)).status).toBe(204);
  expect((await keysOf(model)).length).toBeGreaterThan(0);
  expect((await call("DELETE", `/v1/models/${model}/archive`)).status).toBe(204);
  expect(await keysOf(model)).toEqual([]);
});

/** Runs a model's alarm while each file takes a while to be written, and `change` once the first is on its way. */
async function whileWriting(model: string, change: () => Promise<void>): Promise<void> {
  const bucket = Object.getPrototypeOf(env.BUCKET);
  const { put } = bucket;
  let writing = 0;
  bucket.put = async function (...given: unknown[]) {
    writing++;
    await scheduler.wait(200);
    return put.apply(this, given);
  };
  try {
    const done = runDurableObjectAlarm(learnerOf(model));
    // A promise that the learner resolves would bind it to this test.
    while (writing === 0) await scheduler.wait(5);
    await Promise.all([change(), done]);
    // A file that nothing waited for would appear now.
    await scheduler.wait(300);
  } finally {
    bucket.put = put;
  }
}

/** Calls that are made one after the other. */
const deleted =
  (model: string, ...paths: string[]) =>
  async () => {
    for (const path of paths) expect((await call("DELETE", `/v1/models/${model}${path}`)).status).toBe(204);
  };

it.each([
  ["its archive and then itself", ["/archive", ""]],
  ["itself and then its archive", ["", "/archive"]],
  // Its day was not archived yet.
  ["itself alone", [""]],
])("leaves no file of a model that is deleted while a file is written: %s", async (_, paths) => {
  const model = await begun();
  await whileWriting(model, deleted(model, ...paths));
  expect(await keysOf(model)).toEqual([]);
});

it("leaves no file of a day that a reset deletes while a file is written", async () => {
  const model = await begun();
  await whileWriting(model, async () => {
    // A refused reset deletes nothing.
    expect((await call("POST", `/v1/models/${model}/reset`, { window: { ms: -1 } })).status).toBe(422);
    expect((await keysOf(model)).length).toBeGreaterThan(0);
    expect((await call("POST", `/v1/models/${model}/reset`, {})).status).toBe(200);
  });
  expect(await keysOf(model)).toEqual([]);
  expect((await recommend(model)).length).toBe(1);
});

it("erases in a file that is being written", async () => {
  const model = await begun();
  const [, ...lines] = await logOf(model);
  const [first] = lines.flatMap(({ type, id }) => (type === "impression" ? [id as string] : []));
  await whileWriting(model, async () => {
    expect((await call("DELETE", `/v1/models/${model}/keys/order%201`)).body).toEqual({ erased: 3 });
  });
  await forget(model, DUE + MINUTE_MS);
  const archived = await archivedLines(model);
  expect(archived.some((line) => line.type !== "mark" && impressionOf(line) === first)).toBe(true);
  expect(archived.filter(({ type }) => type !== "mark").map(({ type }) => type)).toEqual(Array(4).fill("erased"));
});
