import { expect, it } from "vitest";
import { call, createModel, describeModel, HOUR_MS, learnerOf, show } from "../support/client.ts";
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
