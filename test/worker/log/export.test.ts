import { expect, it } from "vitest";
import { linesOf as exportedLines } from "../../../cli/log/event-log.ts";
import type { LogStart } from "../../../worker/rpc/message.ts";
import { call, createModel, describeModel, HOUR_MS, learnerOf, recommend, show } from "../support/client.ts";
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
