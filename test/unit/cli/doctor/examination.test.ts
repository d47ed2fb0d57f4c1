import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { Finding } from "../../../../cli/doctor/examination.ts";
import { type Answer, ExaminedWorker, found, refuse } from "../../../support/examined-worker.ts";

// The doctor examines a simulated worker, with one answer changed at a time.

const ALL = [
  ...[
    "address",
    "secret key",
    "models",
    "model",
    "recommendation",
    "clock",
    "webhook",
    "learning",
    "publishable key",
    "origins",
    "senders",
    "KV",
  ],
  "clean-up",
];

let worker: ExaminedWorker;
beforeEach(() => {
  worker = new ExaminedWorker();
  worker.listen();
});
afterEach(() => void vi.unstubAllGlobals());

const states = (findings: readonly Finding[]) => findings.map(({ check, state }) => `${state} ${check}`);

it("finds nothing wrong with a worker in order, and deletes its model", async () => {
  const findings = await found();
  expect(states(findings)).toEqual(ALL.map((check) => `ok ${check}`));
  const texts = Object.fromEntries(findings.map(({ check, text }) => [check, text]));
  expect(texts).toMatchObject({
    "secret key": "accepted; published models: 0",
    "publishable key": "may ask for recommendations, and nothing else",
    origins: "pages of https://shop.example may call, others may not",
    senders: "stripe may send",
    "clean-up": "model doctor-1 deleted",
  });
  expect(worker.asksOf("DELETE *")).toHaveLength(1);
  const [made, given] = [...worker.asksOf("PUT *"), ...worker.asksOf("PUT */actions")].map(({ body }) => JSON.parse(body));
  expect([made, given]).toEqual([{ window: { ms: 600_000 } }, { actions: [{ id: "left" }, { id: "right" }] }]);
});

it.each<[base: string, changed: Record<string, Answer>, check: string, text: string]>([
  ["http://worker.example", {}, "address", "the address begins with http"],
  ["https://worker.example", { "GET /healthz": refuse(404) }, "address", "Another program has this address"],
  ["https://worker.example", { "GET /healthz": () => Response.json({}) }, "address", "/healthz is not that of afterclick"],
  ["https://worker.example", { "GET /v1/models": refuse(401) }, "secret key", "Set AFTERCLICK_SECRET_KEY to the secret key of this worker"],
  ["https://worker.example", { "GET /v1/models": refuse(500) }, "secret key", "look at `npx wrangler tail`"],
])("ends at the first check without which no other makes sense: %s, %j", async (base, changed, check, text) => {
  Object.assign(worker.answers, changed);
  const findings = await found(base);
  expect(findings.at(-1)).toEqual({ check, state: "wrong", text: expect.stringContaining(text) });
  expect(states(findings.slice(0, -1))).toEqual(ALL.slice(0, ALL.indexOf(check)).map((each) => `ok ${each}`));
  expect(worker.calls.some((call) => call.includes("*"))).toBe(false);
});

it.each<[changed: Record<string, Answer>, check: string, text: string, skipped: string[]]>([
  [{ "PUT *": refuse(422) }, "model", "answered 422: no", ALL.slice(4, -1)],
  [{ "POST */recommendations": refuse(422) }, "recommendation", "answered 422", ["webhook", "learning"]],
  [{ "POST /v1/conversions": refuse(401) }, "webhook", "Set AFTERCLICK_WEBHOOK_SECRET to a webhook secret", ["learning"]],
  [
    { "POST /v1/conversions": () => Response.json({ conversions: [{ status: "accepted" }] }) },
    "webhook",
    "accepted by KV only: the learner cannot be reached",
    ["learning"],
  ],
  [{ "OPTIONS */recommendations": refuse(500) }, "origins", "the list of origins cannot be read", []],
  [{ "OPTIONS */recommendations": () => new Response() }, "origins", "pages of https://shop.example may not call the worker", []],
  [{ "POST /v1/hooks/doctor-invalid": refuse(500) }, "senders", "messages of doctor-invalid fail", []],
])("names what is wrong, and skips only what needs it: %j", async (changed, check, text, skipped) => {
  Object.assign(worker.answers, changed);
  const findings = await found();
  expect(findings.find((each) => each.check === check)).toMatchObject({ state: "wrong", text: expect.stringContaining(text) });
  const named = findings.filter(({ state }) => state === "skipped");
  expect(named.map((each) => each.check)).toEqual(skipped);
  for (const each of named) expect(each.text).toBe(`needs "${check}"`);
  expect(worker.calls).toContain("DELETE *");
});

it.each<[changed: Record<string, Answer>, state: string, text: string]>([
  [{}, "ok", "decide, and their learners answer: 2"],
  [{ "GET /v1/models/b": () => Response.json({ relearning: { done: 3, rows: 9 } }) }, "ok", "b learns its log again: 3 of 9 rows"],
  [
    { "POST /v1/models/b/recommendations": refuse(500, "broken") },
    "wrong",
    "1 of 2 fail: POST /v1/models/b/recommendations answered 500: broken",
  ],
  [{ "GET /v1/models/a": refuse(500, "broken") }, "wrong", "1 of 2 fail: GET /v1/models/a answered 500: broken"],
  [{ "POST /v1/models/a/recommendations": refuse(404) }, "ok", "decide, and their learners answer: 2"],
])("tries each listed model, and leaves no impression in it: %j", async (changed, state, text) => {
  const { answers } = worker;
  answers["GET /v1/models"] = () =>
    Response.json({ models: ["a", "b", ...(worker.exists ? ["doctor-1"] : [])].map((model) => ({ model })) });
  for (const model of ["a", "b"]) {
    answers[`POST /v1/models/${model}/recommendations`] = refuse(422);
    answers[`GET /v1/models/${model}`] = () => Response.json({ relearning: null });
  }
  Object.assign(answers, changed);
  const findings = await found();
  expect(findings.find(({ check }) => check === "models")).toMatchObject({ state, text: expect.stringContaining(text) });
  expect(states(findings).at(-1)).toBe("ok clean-up");
  for (const { body } of worker.asksOf("POST /v1/models/a/recommendations")) expect(JSON.parse(body).pin).toHaveLength(1);
});

it("states how many orders of each sender had an impression, and a finding is wrong", async () => {
  const days = [
    { day: "2026-11-28", orders: 57, attributed: 12 },
    { day: "2026-11-27", orders: 40, attributed: 30 },
  ];
  worker.senders = [{ sender: "shopify", days, finding: null }];
  const textOf = async () => (await found()).find(({ check }) => check === "senders");
  expect(await textOf()).toMatchObject({
    state: "ok",
    text: "stripe may send; shopify on 2026-11-28: 12 of 57 orders with an impression id or a key",
  });
  worker.senders = [...worker.senders, { sender: "erp", days, finding: "0 of 57 orders of erp: see docs/senders.md" }];
  expect(await textOf()).toMatchObject({ state: "wrong", text: "0 of 57 orders of erp: see docs/senders.md" });
});

it("says that its model is still there if it cannot be deleted", async () => {
  worker.answers["DELETE *"] = refuse(500);
  expect((await found()).at(-1)).toEqual({
    check: "clean-up",
    state: "wrong",
    text: "the model doctor-1 is still there: delete it with DELETE /v1/models/doctor-1",
  });
});
