import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { examine, type Finding } from "../../../cli/doctor/examination.ts";

// The doctor examines a simulated worker, with one answer changed at a time.

const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const WINDOW_MS = 600_000;
const MODEL = "doctor-1";
const ALL = [
  ...["address", "secret key", "model", "recommendation", "clock", "webhook", "learning", "publishable key", "origins", "senders", "KV"],
  "clean-up",
];

type Answer = (request: { readonly headers: Headers; readonly body: string }) => Response;

/** Answers by method and path. A path of the model begins with a star. */
let answers: Record<string, Answer>;
let asked: string[];

beforeEach(() => {
  let exists = false;
  asked = [];
  const recommended = () => ({ windowEndsAt: Date.now() + WINDOW_MS, actions: [{ impressionId: "i-1" }] });
  const origin = ({ headers }: { readonly headers: Headers }) => {
    const from = headers.get("origin") as string;
    return new Response(null, { headers: from === "https://shop.example" ? { "access-control-allow-origin": from } : {} });
  };
  answers = {
    "GET /healthz": () => Response.json({ status: "ok" }),
    "GET /v1/models": ({ headers }) => {
      if (headers.get("authorization") !== "Bearer sk") return Response.json({ detail: "not allowed" }, { status: 403 });
      return Response.json({ models: exists ? [{ model: MODEL }] : [] });
    },
    "PUT *": () => {
      exists = true;
      return Response.json({}, { status: 201 });
    },
    "GET *": () => (exists ? Response.json({}) : Response.json({ detail: "none" }, { status: 404 })),
    "DELETE *": () => {
      exists = false;
      return new Response(null, { status: 204 });
    },
    "PUT */actions": ({ body }) => {
      expect(JSON.parse(body)).toEqual({ actions: [{ id: "left" }, { id: "right" }] });
      return Response.json({});
    },
    "POST */recommendations": () => Response.json(recommended(), { status: 201 }),
    "OPTIONS */recommendations": origin,
    "POST /v1/conversions": () => Response.json({ conversions: [{ status: "applied" }] }, { status: 202 }),
    "GET /v1/impressions/i-1": () => Response.json({ status: "converted" }),
    "POST /v1/hooks/stripe": () => Response.json({}, { status: 401 }),
    "POST /v1/hooks/shopify": () => Response.json({}, { status: 404 }),
    "POST /v1/hooks/doctor-invalid": () => Response.json({}, { status: 404 }),
  };
  vi.stubGlobal("fetch", async (url: URL, { method = "GET", headers, body }: RequestInit = {}) => {
    const call = `${method} ${url.pathname.replace(`/v1/models/${MODEL}`, "*")}`;
    asked.push(call);
    return answers[call]({ headers: new Headers(headers), body: String(body) });
  });
});
afterEach(() => void vi.unstubAllGlobals());

const values: Record<string, string> = { AFTERCLICK_SECRET_KEY: "sk", AFTERCLICK_PUBLISHABLE_KEY: "pk", AFTERCLICK_WEBHOOK_SECRET: SECRET };
const keys = { get: (name: string) => values[name], find: (name: string) => values[name], webhookSecret: () => SECRET };

async function found(base = "https://worker.example"): Promise<Finding[]> {
  const findings: Finding[] = [];
  for await (const each of examine({ base: new URL(base), keys, model: MODEL, origins: ["https://shop.example"] })) findings.push(each);
  return findings;
}
const states = (findings: readonly Finding[]) => findings.map(({ check, state }) => `${state} ${check}`);
const refuse =
  (status: number, detail = "no"): Answer =>
  () =>
    Response.json({ detail }, { status });

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
  expect(asked.filter((call) => call === "DELETE *")).toHaveLength(1);
});

it.each<[base: string, changed: Record<string, Answer>, check: string, text: string]>([
  ["http://worker.example", {}, "address", "the address begins with http"],
  ["https://worker.example", { "GET /healthz": refuse(404) }, "address", "Another program has this address"],
  ["https://worker.example", { "GET /healthz": () => Response.json({}) }, "address", "/healthz is not that of afterclick"],
  ["https://worker.example", { "GET /v1/models": refuse(401) }, "secret key", "Set AFTERCLICK_SECRET_KEY to the secret key of this worker"],
  ["https://worker.example", { "GET /v1/models": refuse(500) }, "secret key", "look at `npx wrangler tail`"],
])("ends at the first check without which no other makes sense: %s, %j", async (base, changed, check, text) => {
  Object.assign(answers, changed);
  const findings = await found(base);
  expect(findings.at(-1)).toEqual({ check, state: "wrong", text: expect.stringContaining(text) });
  expect(states(findings.slice(0, -1))).toEqual(ALL.slice(0, ALL.indexOf(check)).map((each) => `ok ${each}`));
  expect(asked.some((call) => call.includes("*"))).toBe(false);
});

it.each<[changed: Record<string, Answer>, check: string, text: string, skipped: string[]]>([
  [{ "PUT *": refuse(422) }, "model", "answered 422: no", ALL.slice(3, -1)],
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
  Object.assign(answers, changed);
  const findings = await found();
  expect(findings.find((each) => each.check === check)).toMatchObject({ state: "wrong", text: expect.stringContaining(text) });
  const named = findings.filter(({ state }) => state === "skipped");
  expect(named.map((each) => each.check)).toEqual(expect.arrayContaining(skipped));
  for (const each of named) expect(each.text).toBe(`needs "${check}"`);
  expect(asked).toContain("DELETE *");
});

it("says that its model is still there if it cannot be deleted", async () => {
  answers["DELETE *"] = refuse(500);
  expect((await found()).at(-1)).toEqual({
    check: "clean-up",
    state: "wrong",
    text: "the model doctor-1 is still there: delete it with DELETE /v1/models/doctor-1",
  });
});
