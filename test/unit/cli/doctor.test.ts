import { Webhook } from "standardwebhooks";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { UsageError } from "../../../cli/command/command.ts";
import { type ExaminationOptions, examine, type Finding } from "../../../cli/doctor/examination.ts";
import { run } from "../../../cli/doctor.ts";
import { endPauses, notedPauses } from "../../support/pauses.ts";
import { ran } from "../../support/ran.ts";

// The doctor examines a simulated worker, some answers of which a test changes.

const WEBHOOK_SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const WINDOW_MS = 600_000;
const MODEL = "doctor-1";
const SHOP = "https://shop.example";
const BEFORE_MODEL = ["address", "secret key", "models"];
const OF_MODEL = ["model", "recommendation", "clock", "webhook", "learning", "publishable key", "origins", "senders", "KV"];
const ALL = [...BEFORE_MODEL, ...OF_MODEL, "clean-up"];

/** A request to the worker. A path of the examination's model begins with a star. */
interface Asked {
  readonly call: string;
  readonly headers: Headers;
  readonly body: string;
}
type Answer = (request: Asked) => Response;
type Answers = Record<string, Answer>;

const say =
  (body: unknown, status = 200): Answer =>
  () =>
    Response.json(body, { status });
const refuse = (status: number, detail = "no"): Answer => say({ detail }, status);
const long: Answer = () => new Response("z".repeat(400), { status: 503 });
/** An answer after a time in ms. */
const after =
  (ms: number, answer: Answer): Answer =>
  (request) => {
    vi.advanceTimersByTime(ms);
    return answer(request);
  };
/** A recommendation by a worker whose clock is ahead by so many ms. */
const recommend =
  (aheadMs = 0): Answer =>
  () =>
    Response.json({ windowEndsAt: Date.now() + WINDOW_MS + aheadMs, actions: [{ impressionId: "i-1" }] }, { status: 201 });
const isSecret = ({ headers }: Asked): boolean => headers.get("authorization") === "Bearer sk";
/** An answer to the secret key, and another to any other key. */
const bySecret =
  (answer: Answer, other: Answer = refuse(403)): Answer =>
  (request) =>
    (isSecret(request) ? answer : other)(request);
const share =
  (...origins: string[]): Answer =>
  ({ headers }) => {
    const origin = headers.get("origin") as string;
    const allowed = origins.includes(origin) || origins.includes("*");
    return new Response(null, { headers: allowed ? { "access-control-allow-origin": origin } : {} });
  };
const models = (...names: string[]): Answer => bySecret(say({ models: names.map((model) => ({ model })) }));
const metrics = (...senders: object[]): Answers => ({ "GET */metrics": say({ senders }) });

let pauses: number[];
let asked: Asked[];
/** Whether the model exists. */
let exists: boolean;
let answers: Answers;
beforeEach(() => {
  pauses = notedPauses();
  // No duration is the time at its end.
  vi.advanceTimersByTime(5000);
  [asked, exists] = [[], false];
  let name = MODEL;
  answers = {
    "GET /healthz": say({ status: "ok" }),
    "GET /v1/models": (request) => models(...(exists ? ["other", name] : []))(request),
    "PUT *": () => {
      exists = true;
      return Response.json({}, { status: 201 });
    },
    "GET *": (request) => (exists ? say({}) : refuse(404))(request),
    "DELETE *": () => {
      exists = false;
      return new Response(null, { status: 204 });
    },
    ...metrics(),
    "PUT */actions": say({}),
    "POST */recommendations": recommend(),
    "OPTIONS */recommendations": share(SHOP),
    "POST /v1/conversions": say({ conversions: [{ status: "applied" }] }, 202),
    "GET /v1/impressions/i-1": say({ status: "converted" }),
    "POST /v1/hooks/stripe": refuse(401),
    "POST /v1/hooks/shopify": refuse(404),
    "POST /v1/hooks/woocommerce": refuse(404),
    "POST /v1/hooks/doctor-invalid": refuse(404),
  };
  for (const model of ["a", "b"]) {
    answers[`POST /v1/models/${model}/recommendations`] = refuse(422);
    answers[`GET /v1/models/${model}`] = say({ relearning: null });
  }
  vi.stubGlobal("fetch", async (url: URL, { method = "GET", headers, body }: RequestInit = {}) => {
    name = /^\/v1\/models\/(doctor-\w+)/.exec(url.pathname)?.[1] ?? name;
    const call = `${method} ${url.pathname.replace(/^\/v1\/models\/doctor-\w+/, "*")}`;
    asked.push({ call, headers: new Headers(headers), body: String(body) });
    return answers[call](asked.at(-1) as Asked);
  });
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.unstubAllEnvs();
  endPauses();
});

const asksOf = (call: string): Asked[] => asked.filter((each) => each.call === call);

const KEYS: Record<string, string | undefined> = { AFTERCLICK_SECRET_KEY: "sk", AFTERCLICK_PUBLISHABLE_KEY: "pk" };
function keysWith(changed: Record<string, undefined> = {}): ExaminationOptions["keys"] {
  const find = (name: string) => ({ ...KEYS, ...changed })[name];
  return { get: (name) => find(name) as string, find, webhookSecret: () => WEBHOOK_SECRET };
}
const keysThatThrow = (error: Error): ExaminationOptions["keys"] => ({
  ...keysWith(),
  get: () => {
    throw error;
  },
});

async function found(options: Partial<ExaminationOptions> = {}): Promise<Finding[]> {
  const findings: Finding[] = [];
  const whole = { base: new URL("https://worker.example"), keys: keysWith(), model: MODEL, origins: [SHOP], ...options };
  for await (const each of examine(whole)) findings.push(each);
  return findings;
}

it.each([
  [{ unknownKeys: 50, otherActions: 3 }, 40, "no impression has their key"],
  [{ withoutAction: 20 }, 20, "they name no action, and the lists of their key have several"],
  [{ otherActions: 50, unknownKeys: 50 }, 100, undefined],
  [{ unknownKeys: 50 }, 19, undefined],
])("names the pattern of many orphans: %j, of which %d wait", async (incidents, orphan, pattern) => {
  answers["GET /v1/models"] = (request) => models("a", ...(exists ? [MODEL] : []))(request);
  answers["GET /v1/models/a"] = say({ relearning: null, counts: { orphan }, incidents });
  const { state, text } = (await found()).find(({ check }) => check === "models") as Finding;
  expect(state).toBe(pattern ? "wrong" : "ok");
  if (pattern) expect(text).toContain(`${orphan} conversions of a wait for an impression, and of most ${pattern}`);
});

it("finds nothing wrong with a worker in order, and deletes its model", async () => {
  answers["GET /v1/models"] = (request) => models("a", ...(exists ? [MODEL] : []))(request);
  answers["POST */recommendations"] = after(17, recommend());
  const findings = await found();
  expect(findings.map(({ check, state }) => `${state} ${check}`)).toEqual(ALL.map((check) => `ok ${check}`));
  expect(Object.fromEntries(findings.map(({ check, text }) => [check, text]))).toMatchObject({
    address: "https://worker.example answers in 0 ms",
    "secret key": "accepted; published models: 1",
    models: "decide, and their learners answer: 1",
    recommendation: "decided in 17 ms",
    clock: "differs by 0.0 s from the worker's",
    "publishable key": "may ask for recommendations, and nothing else",
    "clean-up": "model doctor-1 deleted",
  });
  const bodies = (call: string) => asksOf(call).map(({ body }) => JSON.parse(body));
  expect(bodies("PUT *")).toEqual([{ window: { ms: WINDOW_MS } }]);
  expect(bodies("PUT */actions")).toEqual([{ actions: [{ id: "left" }, { id: "right" }] }]);
  expect(bodies("POST */recommendations")).toEqual([{ keys: ["order of doctor-1"] }, {}, {}]);
  // A list with an impossible pin leaves no impression.
  expect(bodies("POST /v1/models/a/recommendations")).toEqual([{ pin: [{ action: MODEL, place: 0 }] }]);
  expect(asksOf("POST */recommendations").map(({ headers }) => headers.get("authorization"))).toEqual([
    "Bearer sk",
    "Bearer sk",
    "Bearer pk",
  ]);
  for (const call of ["PUT *", "DELETE *", "GET /v1/impressions/i-1"]) expect(asksOf(call).map(isSecret)).toEqual([true]);
  const preflight = { "access-control-request-method": "POST", "access-control-request-headers": "authorization,content-type" };
  expect(asksOf("OPTIONS */recommendations").map(({ headers }) => Object.fromEntries(headers))).toEqual(
    ["https://doctor.invalid", SHOP].map((origin) => ({ origin, ...preflight })),
  );
  const [{ headers, body }] = asksOf("POST /v1/conversions");
  expect(new Webhook(WEBHOOK_SECRET).verify(body, Object.fromEntries(headers))).toEqual({
    ...{ type: "conversion", timestamp: expect.any(Number) },
    data: { impressionId: "i-1", reward: 1 },
  });
  expect(headers.get("webhook-id")).toBe(MODEL);
});

const look = "look at `npx wrangler tail`";
const others = ["https://one.example", SHOP, "https://two.example"];
const day = { day: "2026-11-28", orders: 57, attributed: 12 };
const shopify = { sender: "shopify", days: [day, { day: "2026-11-27", orders: 40, attributed: 30 }], finding: null };

type Row = readonly [check: string, state: string, text: string, changed: Answers, options?: Partial<ExaminationOptions>];
const FINDINGS: Row[] = [
  ["address", "ok", "https://worker.example answers in 42 ms", { "GET /healthz": after(42, say({ status: "ok" })) }],
  ["address", "wrong", "/healthz is not that of afterclick: check the URL", { "GET /healthz": () => new Response(null, { status: 204 }) }],
  ["address", "wrong", "/healthz is not that of afterclick: check the URL", { "GET /healthz": say({}) }],
  ["address", "wrong", "Another program has this address", { "GET /healthz": refuse(404) }],
  ...[401, 403].map((status): Row => {
    const text = `GET /v1/models answered ${status}: no. Set AFTERCLICK_SECRET_KEY to the secret key of this worker`;
    return ["secret key", "wrong", text, { "GET /v1/models": refuse(status) }];
  }),
  ["secret key", "wrong", `503: no. Send again in a minute; if it stays, ${look}`, { "GET /v1/models": refuse(503) }],
  ["secret key", "wrong", `500: no. If a variable is named, set it; otherwise ${look}`, { "GET /v1/models": refuse(500) }],
  ["secret key", "wrong", "none in the environment", {}, { keys: keysThatThrow(new UsageError("none in the environment")) }],
  ["models", "ok", "b learns its log again: 3 of 9 rows", { "GET /v1/models/b": say({ relearning: { done: 3, rows: 9 } }) }],
  ["models", "wrong", "1 of 2 fail: POST /v1/models/b/recommendations answered 500", { "POST /v1/models/b/recommendations": refuse(500) }],
  ["models", "wrong", "1 of 2 fail: GET /v1/models/a answered 500", { "GET /v1/models/a": refuse(500) }],
  // KV may list a deleted model.
  ["models", "ok", "decide, and their learners answer: 2", { "POST /v1/models/a/recommendations": refuse(404) }],
  ["model", "wrong", `answered 503: no. Send again in a minute; if it stays, ${look}`, { "PUT *": refuse(503) }],
  // The worker answers in the middle of a request of eight seconds.
  ["clock", "ok", "differs by 0.0 s", { "POST */recommendations": after(8000, recommend(-4000)) }],
  ...[60_000, -60_000].map((ms): Row => ["clock", "ok", "differs by 60.0 s", { "POST */recommendations": recommend(ms) }]),
  ["clock", "wrong", "clock is 60.0 s behind the worker's. Signatures are refused", { "POST */recommendations": recommend(60_001) }],
  ["clock", "wrong", "clock is 90.0 s ahead of the worker's. Signatures are refused", { "POST */recommendations": recommend(-90_000) }],
  ["webhook", "ok", "signed, verified and taken", { "POST /v1/conversions": say({ conversions: [{ status: "orphan" }] }) }],
  ["webhook", "wrong", "expected applied, got late. docs/", { "POST /v1/conversions": say({ conversions: [{ status: "late" }] }) }],
  ["webhook", "wrong", "accepted by KV only", { "POST /v1/conversions": say({ conversions: [{ status: "accepted" }] }) }],
  ["webhook", "wrong", `503: no. Send again in a minute; if it stays, ${look}`, { "POST /v1/conversions": refuse(503) }],
  ["learning", "wrong", "GET /v1/impressions/i-1 answered 400: no", { "GET /v1/impressions/i-1": refuse(400) }],
  ["publishable key", "ok", "set AFTERCLICK_PUBLISHABLE_KEY", {}, { keys: keysWith({ AFTERCLICK_PUBLISHABLE_KEY: undefined }) }],
  ...[["401: no. Set AFTERCLICK_PUBLISHABLE_KEY to the publishable key of this worker", 401] as const, ["429: no", 429] as const].map(
    ([text, status]): Row => ["publishable key", "wrong", text, { "POST */recommendations": bySecret(recommend(), refuse(status)) }],
  ),
  // Any other refusal than 403 does not show what the key may do.
  ...[say({ models: [{ model: MODEL }] }), refuse(401)].map((other): Row => {
    const list = bySecret(say({ models: [{ model: MODEL }] }), other);
    return ["publishable key", "wrong", "has the rights of a secret key. Generate another one at once", { "GET /v1/models": list }];
  }),
  ["origins", "ok", "others than the listed ones are refused", { "OPTIONS */recommendations": share() }, { origins: [] }],
  ...[[], [SHOP]].map((origins): Row => {
    return [
      "origins",
      "ok",
      "pages of every origin may use the publishable key (*)",
      { "OPTIONS */recommendations": share("*") },
      { origins },
    ];
  }),
  ["origins", "ok", `pages of ${others.join(", ")} may call`, { "OPTIONS */recommendations": share(...others) }, { origins: others }],
  [
    "origins",
    "wrong",
    "pages of https://one.example, https://two.example may not call the worker: add the origin",
    {},
    { origins: others },
  ],
  ["origins", "wrong", `the list of origins cannot be read: ${"z".repeat(300)}`, { "OPTIONS */recommendations": long }],
  ["senders", "ok", "stripe and shopify may send", { "POST /v1/hooks/shopify": refuse(401) }],
  ["senders", "ok", "shopify may send", { "POST /v1/hooks/stripe": refuse(404), "POST /v1/hooks/shopify": refuse(401) }],
  ["senders", "ok", "no sender of orders has a secret, so all are off", { "POST /v1/hooks/stripe": refuse(404) }],
  ["senders", "ok", "stripe may send; shopify on 2026-11-28: 12 of 57 orders with an impression id or a key", metrics(shopify)],
  ["senders", "wrong", "0 of 57 orders of erp", metrics(shopify, { ...shopify, sender: "erp", finding: "0 of 57 orders of erp" })],
  ["senders", "wrong", `messages of shopify fail: ${"z".repeat(300)}`, { "POST /v1/hooks/shopify": long }],
  ["senders", "wrong", "messages of doctor-invalid fail", { "POST /v1/hooks/doctor-invalid": refuse(500) }],
  ...[{ "DELETE *": refuse(500) } as Answers, { "GET *": refuse(200) }, { "GET *": refuse(403) }].map((changed): Row => {
    return ["clean-up", "wrong", "the model doctor-1 is still there: delete it with DELETE /v1/models/doctor-1", changed];
  }),
];

/** What needs the result of a check that is wrong. */
const SKIPPED: Record<string, string[]> = { model: OF_MODEL.slice(1), recommendation: ["webhook", "learning"], webhook: ["learning"] };
const names = FINDINGS.map(([check, state, text, changed, options]) => [check, state, text, { changed, options }] as const);

it.each(names)("%s is %s: %s", async (check, state, text, { changed, options }) => {
  if (check === "models") answers["GET /v1/models"] = (request) => models("a", "b", ...(exists ? [MODEL] : []))(request);
  Object.assign(answers, changed);
  const findings = await found(options);
  const finding = findings.find((each) => each.check === check) as Finding;
  expect(finding.state).toBe(state);
  expect(finding.text).toContain(text);
  expect(finding.text).not.toContain("z".repeat(301));
  if (state === "wrong" && ["address", "secret key"].includes(check)) {
    // No other check makes sense without it.
    expect(findings.map((each) => each.check)).toEqual(ALL.slice(0, ALL.indexOf(check) + 1));
    expect(asked.some(({ call }) => call.includes("*"))).toBe(false);
    return;
  }
  const skipped = state === "wrong" ? (SKIPPED[check] ?? []) : [];
  const expected = skipped.map((each) => ({ check: each, state: "skipped", text: `needs "${check}"` }));
  expect(findings.filter((each) => each.state === "skipped")).toEqual(expected);
  expect(asked.map(({ call }) => call)).toContain("DELETE *");
});

it.each(["http://localhost:8787", "http://127.0.0.1:8787", "http://[::1]:8787"])("%s is safe for keys", async (base) => {
  expect((await found({ base: new URL(base) }))[0]).toEqual({ check: "address", state: "ok", text: `${base} answers in 0 ms` });
});

it.each(["http://localhost.example", "http://my-localhost", "http://127.0.0.1.example"])("%s is not safe for keys", async (base) => {
  const text = "the address begins with http: keys would travel in the clear. Use https";
  expect(await found({ base: new URL(base) })).toEqual([{ check: "address", state: "wrong", text }]);
  expect(asked).toEqual([]);
});

it.each([
  ["GET /healthz", 2],
  ["GET /v1/models", 2],
  ["PUT *", 3],
  ["POST /v1/conversions", 2],
])("asks %s %d times", async (call, attempts) => {
  answers[call] = refuse(503);
  await found();
  expect(asksOf(call)).toHaveLength(attempts);
});

it("throws an error that is no fault of the worker, and ends at a recommendation that fails", async () => {
  await expect(found({ keys: keysThatThrow(new RangeError("a fault of this command")) })).rejects.toThrow("a fault of this command");
  answers["POST */recommendations"] = refuse(422);
  const skipped = (await found()).filter(({ state }) => state === "skipped");
  expect(skipped.map(({ check }) => check)).toEqual(SKIPPED.recommendation);
});

describe("waits", () => {
  it("until an impression is registered and has converted, twenty seconds at most", async () => {
    const inTurn = [refuse(404), say({ status: "open" }), say({ status: "converted" })];
    answers["GET /v1/impressions/i-1"] = (request) => (inTurn.shift() as Answer)(request);
    const learning = async () => (await found()).find(({ check }) => check === "learning")?.text;
    expect(await learning()).toBe("learnt 0.5 s after the answer");
    expect(pauses.splice(0)).toEqual([250, 250]);
    answers["GET /v1/impressions/i-1"] = refuse(404);
    expect(await learning()).toBe(`not learnt within 20 s: the impression is not registered. L${look.slice(1)}`);
    expect(pauses).toEqual(Array(80).fill(250));
  });

  it("until KV lists the model, ninety seconds at most", async () => {
    let lists = 0;
    answers["GET /v1/models"] = (request) => models("a", ...(isSecret(request) && ++lists > 4 ? [MODEL] : []))(request);
    const listed = async () => (await found()).find(({ check }) => check === "KV")?.text;
    expect(await listed()).toBe("lists the model's publication after 0.8 s");
    expect(pauses.splice(0)).toEqual([250, 250, 250]);
    answers["GET /v1/models"] = models("a");
    expect(await listed()).toBe(`the model is not in KV after 90 s: check the binding EVENTS, and ${look}`);
    expect(pauses).toEqual(Array(360).fill(250));
  });
});

it("deletes the model of an examination that its caller ends early", async () => {
  const options = { base: new URL("https://worker.example"), keys: keysWith(), model: MODEL, origins: [] };
  for await (const { check } of examine(options)) if (check === "recommendation") break;
  expect([exists, asked.at(-1)?.call]).toEqual([false, "DELETE *"]);
});

describe("the command", () => {
  const called = (...args: string[]) => {
    for (const [name, value] of Object.entries({ ...KEYS, AFTERCLICK_WEBHOOK_SECRET: WEBHOOK_SECRET })) vi.stubEnv(name, value);
    return ran(run, ...args);
  };

  it("prints a line for each check of a model with a name of its own", async () => {
    const [one, other] = [
      await called("--url", "https://worker.example", "--origin", SHOP),
      await called("--url", "https://worker.example"),
    ];
    expect([one.code, one.stderr, one.stdout.split("\n").length]).toEqual([0, "", ALL.length + 3]);
    expect(one.stdout).toMatch(/^ok {6}address {9}https:\/\/worker\.example answers in 0 ms\n/);
    expect(one.stdout).toMatch(/\nok {6}clean-up {8}model doctor-[0-9a-f]{12} deleted\n\nThe worker works\.\n$/);
    expect(one.stdout.split(" deleted")[0].slice(-12)).not.toBe(other.stdout.split(" deleted")[0].slice(-12));
  });

  it("ends with exit code 1 if one check is wrong", async () => {
    answers["POST /v1/hooks/doctor-invalid"] = refuse(500);
    const { code, stdout } = await called("--url", "https://worker.example");
    expect(code).toBe(1);
    expect(stdout).toMatch(/^wrong {3}senders {9}messages of doctor-invalid fail: /m);
    expect(stdout).toMatch(/\nok {6}clean-up[\s\S]*\n\nThe worker needs attention: see the lines that begin with wrong\.\n$/);
  });

  it.each([
    [[], "--url: expected a URL with http or https, got "],
    ...["shop.example", "https://shop.example/", "https://shop.example/page", "HTTPS://SHOP.EXAMPLE"].map((origin) => {
      const args = ["--url", "https://worker.example", "--origin", SHOP, "--origin", origin];
      return [args, `--origin: expected an origin such as https://shop.example, got ${origin}`] as [string[], string];
    }),
  ] as [string[], string][])("refuses %j", async (args, message) => {
    const { code, stderr } = await called(...args);
    expect([code, stderr.split("\n")[0], asked]).toEqual([1, message, []]);
  });
});
