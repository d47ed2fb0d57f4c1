import { evictDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { linesOf as exportedLines } from "../../../cli/log/event-log.ts";
import type { LogStart } from "../../../worker/rpc/message.ts";
import { call, convert, createModel, describeModel, HOUR_MS, learnerOf, recommend, show } from "../support/client.ts";
import { useClock } from "../support/clock.ts";
import { learners } from "../support/fault.ts";
import { linesOf, logOf } from "../support/fold.ts";

useClock();

it("exports the state of its first line, without rows that are added while it is read", async () => {
  const model = await createModel();
  await show(model, {}, {});
  const { modelVersion } = await describeModel(model);
  let pages = 0;
  const growing = learners(async (method, read) => {
    if (["startLog", "log"].includes(method) && ++pages === 2) await show(model, {});
    return read();
  });
  const { body } = await call("GET", `/v1/models/${model}/events`, undefined, { env: { LEARNER: growing } });
  const [head, ...lines] = linesOf(body);
  expect(pages).toBeGreaterThan(1);
  expect(head).toMatchObject({ modelVersion, lines: lines.length });
  expect(lines.at(-1)?.seq).toBe(modelVersion);
  expect((await describeModel(model)).modelVersion).toBeGreaterThan(modelVersion);
});

it("counts catalogues among the bytes of a page", async () => {
  const model = await createModel({ window: { ms: HOUR_MS }, encoder: { dimension: 4 } });
  const text = (seed: number) => Array.from({ length: 64 }, (_, n) => `${seed} ${n}`.padEnd(250));
  // Each has 0.8 MB in four parts, and a page about 4 MB.
  for (let time = 0; time < 8; time++) {
    const actions = Array.from({ length: 50 }, (_, n) => ({ id: `a${n}`, features: { words: text(time) } }));
    expect((await call("PUT", `/v1/models/${model}/actions`, { actions })).status).toBe(200);
  }
  const page = await learnerOf(model).log({ after: 0, upTo: Number.MAX_SAFE_INTEGER });
  if ("problem" in page) throw new Error(page.problem.detail);
  const catalogues = page.value.filter((line) => line.type === "mark" && line.mark === "actions");
  expect(catalogues.length).toBeGreaterThan(12);
  expect(catalogues.length).toBeLessThan(32);
  expect((await logOf(model)).filter(({ mark }) => mark === "actions")).toHaveLength(1 + 8 * 4);
});

it("ends with the number of its rows if one has got another number while it was read", async () => {
  const model = await createModel();
  const [deferred] = await recommend(model, { defer: true });
  await show(model, {}, {});
  const showing = learners(async (method, read) => {
    const answer = (await read()) as { readonly value: LogStart };
    if (method !== "startLog") return answer;
    expect((await call("POST", `/v1/impressions/${deferred}/activate`)).status).toBeLessThan(300);
    // The other rows are read later, as those of a long log.
    return { value: { ...answer.value, rows: answer.value.rows.slice(0, 1) } };
  });
  const { body } = await call("GET", `/v1/models/${model}/events`, undefined, { env: { LEARNER: showing } });
  const [head, ...rows] = linesOf(body);
  const end = rows.pop();
  expect(end).toMatchObject({ type: "end", lines: rows.length });
  expect(head.lines).toBe(rows.length + 1);
  expect(rows.some(({ id }) => id === deferred)).toBe(false);
  const texts = body.trim().split("\n");
  const read = async (lines: string[]) => {
    let count = -1;
    for await (const _ of exportedLines(lines, { receipts: true })) count++;
    return count;
  };
  expect(await read(texts)).toBe(rows.length);
  await expect(read(texts.slice(0, -1))).rejects.toThrow(`line 1, the head: expected ${head.lines} events, got ${rows.length}`);
  await expect(read([texts[0], ...texts.slice(2)])).rejects.toThrow("the receipt does not match");
  // An import takes it like any other export.
  const copy = await createModel();
  expect((await call("POST", `/v1/models/${copy}/events`, body)).body).toMatchObject({ impressions: 2 });
});

describe("a log of a catalogue that has grown", () => {
  const encoder = { dimension: 64, numeric: { price: { min: 0, max: 50 } } };
  const [rope, hat, boots] = ["rope", "hat", "boots"].map((id, i) => ({ id, features: { price: 10 * i, brand: `brand-${i}` } }));
  const context = { country: "PT" };

  /** A model whose visitors buy boots, with its log. */
  async function grown(): Promise<{ model: string; log: string }> {
    const model = await createModel({ encoder });
    for (const actions of [[rope], [rope, hat], [rope, hat, boots]]) await call("PUT", `/v1/models/${model}/actions`, { actions });
    const ids = await show(model, ...Array.from({ length: 60 }, (_, i) => ({ action: [rope, hat, boots][i % 3].id, context })));
    await convert(ids.flatMap((impressionId, i) => (i % 3 === 2 ? { impressionId, reward: 1 } : [])));
    return { model, log: (await call("GET", `/v1/models/${model}/events`)).body };
  }

  const meansOf = async (model: string): Promise<Record<string, number>> => {
    const { body } = await call("POST", `/v1/models/${model}/recommendations`, { context, limit: 3 });
    return Object.fromEntries(body.actions.map(({ id, mean }: { id: string; mean: number }) => [id, mean]));
  };

  it("means the same in a new model, whose catalogue came at once", async () => {
    const { model, log } = await grown();
    const restored = await createModel({ encoder });
    await call("PUT", `/v1/models/${restored}/actions`, { actions: [boots, hat, rope] });
    expect((await call("POST", `/v1/models/${restored}/events`, log)).body).toMatchObject({
      impressions: 60,
      conversions: { applied: 20 },
    });
    const [before, after] = [await meansOf(model), await meansOf(restored)];
    expect(before.boots).toBeGreaterThan(before.hat + 0.1);
    for (const id of ["rope", "hat", "boots"]) expect(after[id]).toBeCloseTo(before[id], 9);
    await evictDurableObject(learnerOf(restored));
    expect((await describeModel(restored)).digest).toBe((await describeModel(model)).digest);
    // A second part has no first line, and the same log again changes nothing.
    expect((await call("POST", `/v1/models/${restored}/events`, log)).body).toMatchObject({ impressions: 0, repeated: 60 });
  });

  it.each([
    ["has learnt under another vocabulary", { encoder }],
    ["has another encoder", { encoder: { ...encoder, interactions: [] } }],
  ])("is refused by a model that %s, and changes nothing", async (_, options) => {
    const { log } = await grown();
    const model = await createModel(options);
    await call("PUT", `/v1/models/${model}/actions`, { actions: [boots, hat, rope] });
    await show(model, { action: "hat", context });
    const before = await describeModel(model);
    expect(await call("POST", `/v1/models/${model}/events`, log)).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining("of another encoder: import it into a new model") },
    });
    expect(await describeModel(model)).toEqual(before);
  });
});
