import { Webhook } from "standardwebhooks";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { UsageError } from "../../../../cli/command.ts";
import { examine, type Finding } from "../../../../cli/doctor/examination.ts";
import {
  type Answer,
  ExaminedWorker,
  found,
  keysWith,
  MODEL,
  recommended,
  refuse,
  SHOP,
  WEBHOOK_SECRET,
} from "../../../support/examined-worker.ts";
import { endPauses, notedPauses } from "../../../support/pauses.ts";

// The doctor sends requests, waits for answers, and words what it found.

let worker: ExaminedWorker;
let pauses: number[];
beforeEach(() => {
  pauses = notedPauses();
  worker = new ExaminedWorker();
  worker.listen();
});
afterEach(() => {
  vi.unstubAllGlobals();
  endPauses();
});

type Options = Parameters<typeof found>[1];

async function findingOf(check: string, options?: Options, base?: string): Promise<Finding | undefined> {
  return (await found(base, options)).find((each) => each.check === check);
}
const ok = (check: string, text: string) => ({ check, state: "ok", text });
const wrong = (check: string, text: string) => ({ check, state: "wrong", text });

/** An answer after a time in ms. */
const after =
  (ms: number, answer: () => Response): Answer =>
  () => {
    vi.advanceTimersByTime(ms);
    return answer();
  };

describe("address", () => {
  it.each(["http://localhost:8787", "http://127.0.0.1:8787", "http://[::1]:8787", "https://worker.example"])(
    "%s is safe for keys",
    async (base) => {
      worker.answers["GET /healthz"] = after(42, () => Response.json({ status: "ok" }));
      expect(await findingOf("address", {}, base)).toEqual(ok("address", `${base} answers in 42 ms`));
    },
  );

  it.each(["http://localhost.example", "http://my-localhost", "http://127.0.0.1.example"])("%s is not safe for keys", async (base) => {
    expect(await findingOf("address", {}, base)).toEqual(
      wrong("address", "the address begins with http: keys would travel in the clear. Use https"),
    );
    expect(worker.asked).toEqual([]);
  });

  it("without an answer is asked twice", async () => {
    worker.answers["GET /healthz"] = () => {
      throw new TypeError("fetch failed");
    };
    expect(await findingOf("address")).toEqual(wrong("address", "no worker answers at https://worker.example: fetch failed"));
    expect(worker.calls).toEqual(["GET /healthz", "GET /healthz"]);
  });

  it("of another program answers without a status", async () => {
    worker.answers["GET /healthz"] = () => new Response(null, { status: 204 });
    expect(await findingOf("address")).toEqual(wrong("address", "/healthz is not that of afterclick: check the URL"));
  });
});

describe("secret key", () => {
  it("opens the list of published models", async () => {
    worker.answers["GET /v1/models"] = () => Response.json({ models: [{ model: "a" }, { model: MODEL }] });
    expect(await findingOf("secret key")).toEqual(ok("secret key", "accepted; published models: 2"));
    expect(worker.asksOf("GET /v1/models")[0].headers.get("authorization")).toBe("Bearer sk");
  });

  it.each([401, 403])("is another one if the worker answers %d", async (status) => {
    worker.answers["GET /v1/models"] = refuse(status);
    expect(await findingOf("secret key")).toEqual(
      wrong("secret key", `GET /v1/models answered ${status}: no. Set AFTERCLICK_SECRET_KEY to the secret key of this worker`),
    );
  });

  it.each([
    [503, 2, ". Send again in a minute; if it stays, look at `npx wrangler tail`"],
    [500, 1, ". If a variable is named, set it; otherwise look at `npx wrangler tail`"],
    [422, 1, ""],
  ])("is not blamed for the answer %d", async (status, attempts, remedy) => {
    worker.answers["GET /v1/models"] = refuse(status);
    expect(await findingOf("secret key")).toEqual(wrong("secret key", `GET /v1/models answered ${status}: no${remedy}`));
    expect(worker.asksOf("GET /v1/models")).toHaveLength(attempts);
  });

  it("may be missing", async () => {
    const get = () => {
      throw new UsageError("AFTERCLICK_SECRET_KEY: expected in the environment, got none");
    };
    expect(await findingOf("secret key", { keys: { ...keysWith(), get } })).toEqual(
      wrong("secret key", "AFTERCLICK_SECRET_KEY: expected in the environment, got none"),
    );
  });
});

it("throws an error that is no fault of the worker", async () => {
  const get = () => {
    throw new RangeError("a fault of this command");
  };
  await expect(found(undefined, { keys: { ...keysWith(), get } })).rejects.toThrow("a fault of this command");
});

it("asks for its model three times, and uses the secret key there", async () => {
  worker.answers["PUT *"] = refuse(503);
  expect(await findingOf("model")).toMatchObject({ state: "wrong", text: expect.stringContaining("answered 503: no. Send again") });
  expect(worker.asksOf("PUT *").map(({ headers }) => headers.get("authorization"))).toEqual(["Bearer sk", "Bearer sk", "Bearer sk"]);
});

it("says how long a decision takes, and gives it a key of its own", async () => {
  worker.answers["POST */recommendations"] = after(17, () => recommended());
  expect(await findingOf("recommendation")).toEqual(ok("recommendation", "decided in 17 ms"));
  expect(worker.asksOf("POST */recommendations").map(({ body }) => body)).toEqual(['{"keys":["order of doctor-1"]}', "{}", "{}"]);
});

it.each([
  [0, "ok", "differs by 0.0 s from the worker's"],
  [60_000, "ok", "differs by 60.0 s from the worker's"],
  [-60_000, "ok", "differs by 60.0 s from the worker's"],
  [60_001, "wrong", "this machine's clock is 60.0 s behind the worker's. Signatures are refused beyond 300 s: synchronise this clock"],
  [-90_000, "wrong", "this machine's clock is 90.0 s ahead of the worker's. Signatures are refused beyond 300 s: synchronise this clock"],
])("compares clocks: a worker's that is ahead by %d ms", async (aheadMs, state, text) => {
  worker.answers["POST */recommendations"] = () => recommended(aheadMs);
  const findings = await found();
  expect(findings.find(({ check }) => check === "clock")).toEqual({ check: "clock", state, text });
  // No other check needs this one.
  expect(findings.filter((each) => each.state === "skipped")).toEqual([]);
});

it("takes the middle of a request for the time at which the worker answered it", async () => {
  worker.answers["POST */recommendations"] = after(8000, () => recommended(-4000));
  expect(await findingOf("clock")).toEqual(ok("clock", "differs by 0.0 s from the worker's"));
});

describe("webhook", () => {
  it("reports the shown impression, with a signature and an id", async () => {
    worker.answers["POST */recommendations"] = () => recommended(0, "i-1");
    expect(await findingOf("webhook")).toEqual(ok("webhook", "signed, verified and taken"));
    const [{ headers, body }] = worker.asksOf("POST /v1/conversions");
    expect(new Webhook(WEBHOOK_SECRET).verify(body, Object.fromEntries(headers))).toEqual({
      type: "conversion",
      timestamp: Date.now(),
      data: { impressionId: "i-1", reward: 1 },
    });
    expect(headers.get("webhook-id")).toBe(MODEL);
  });

  it.each([
    ["applied", "ok", "signed, verified and taken"],
    ["orphan", "ok", "signed, verified and taken"],
    ["late", "wrong", "expected applied, got late. docs/operations.md#statuses-of-a-conversion says why"],
    ["accepted", "wrong", "accepted by KV only: the learner cannot be reached. Look at `npx wrangler tail`"],
  ])("answered with %s is %s", async (status, state, text) => {
    worker.answers["POST /v1/conversions"] = () => Response.json({ conversions: [{ status }] });
    expect(await findingOf("webhook")).toEqual({ check: "webhook", state, text });
  });

  it("is sent twice, and blames no secret for a fault of the worker", async () => {
    worker.answers["POST /v1/conversions"] = refuse(503);
    expect((await findingOf("webhook"))?.text).toBe(
      "POST /v1/conversions answered 503: no. Send again in a minute; if it stays, look at `npx wrangler tail`",
    );
    expect(worker.asksOf("POST /v1/conversions")).toHaveLength(2);
  });
});

describe("learning", () => {
  it("waits until an impression is registered and has converted", async () => {
    const answers = [refuse(404), () => Response.json({ status: "open" }), () => Response.json({ status: "converted" })];
    worker.answers["POST */recommendations"] = () => recommended(0, "i/1");
    worker.answers["GET /v1/impressions/i%2F1"] = (asked) => {
      expect(asked.headers.get("authorization")).toBe("Bearer sk");
      return (answers.shift() as Answer)(asked);
    };
    expect(await findingOf("learning")).toEqual(ok("learning", "learnt 0.5 s after the answer"));
    expect(pauses).toEqual([250, 250]);
  });

  it("ends after twenty seconds", async () => {
    worker.answers["GET /v1/impressions/i-1"] = refuse(404);
    expect(await findingOf("learning")).toEqual(
      wrong("learning", "not learnt within 20 s: the impression is not registered. Look at `npx wrangler tail`"),
    );
    expect(pauses.reduce((sum, each) => sum + each)).toBe(20_000);
  });

  it("names another fault at once", async () => {
    worker.answers["GET /v1/impressions/i-1"] = refuse(400);
    expect(await findingOf("learning")).toEqual(wrong("learning", "GET /v1/impressions/i-1 answered 400: no"));
    expect(pauses).toEqual([]);
  });
});

describe("publishable key", () => {
  const text = async (options?: Options) => (await findingOf("publishable key", options))?.text;

  it("asks for a recommendation, and is refused elsewhere", async () => {
    expect(await text()).toBe("may ask for recommendations, and nothing else");
    expect(worker.asksOf("POST */recommendations").at(-1)?.headers.get("authorization")).toBe("Bearer pk");
  });

  it("is not needed", async () => {
    expect(await text({ keys: keysWith({ AFTERCLICK_PUBLISHABLE_KEY: undefined }) })).toBe(
      "not given, so not checked: set AFTERCLICK_PUBLISHABLE_KEY",
    );
    expect(worker.asksOf("POST */recommendations")).toHaveLength(2);
  });

  it.each([
    [401, "answered 401: no. Set AFTERCLICK_PUBLISHABLE_KEY to the publishable key of this worker"],
    [429, "answered 429: no"],
  ])("is another one only if the worker answers 401: %d", async (status, end) => {
    worker.answers["POST */recommendations"] = (asked) =>
      asked.headers.get("authorization") === "Bearer pk" ? refuse(status)(asked) : recommended();
    expect(await text()).toBe(`POST /v1/models/${MODEL}/recommendations ${end}`);
  });

  it("must not have the rights of a secret key", async () => {
    const models = () => Response.json({ models: [{ model: MODEL }] });
    const expected = "AFTERCLICK_PUBLISHABLE_KEY has the rights of a secret key. Generate another one at once";
    worker.answers["GET /v1/models"] = models;
    expect(await text()).toBe(expected);
    // Any other refusal does not show what the key may do.
    worker.answers["GET /v1/models"] = (asked) => (asked.headers.get("authorization") === "Bearer sk" ? models() : refuse(401)(asked));
    expect(await text()).toBe(expected);
  });
});

describe("origins", () => {
  const others = ["https://one.example", SHOP, "https://two.example"];
  const shares = (origins: readonly string[]): Answer => {
    return ({ headers }) => {
      const origin = headers.get("origin") as string;
      const allowed = origins.includes(origin) || origins.includes("*");
      return new Response(null, { headers: allowed ? { "access-control-allow-origin": origin } : {} });
    };
  };

  it.each<[allowed: string[], origins: string[], state: string, text: string]>([
    [[], [], "ok", "others than the listed ones are refused"],
    [["*"], [], "ok", "pages of every origin may use the publishable key (*)"],
    [["*"], [SHOP], "ok", "pages of every origin may use the publishable key (*)"],
    [others, others, "ok", `pages of ${others.join(", ")} may call, others may not`],
    [
      [SHOP],
      others,
      "wrong",
      "pages of https://one.example, https://two.example may not call the worker: add the origin to AFTERCLICK_ALLOWED_ORIGINS, as browsers write it",
    ],
  ])("allowed %j, asked %j", async (allowed, origins, state, text) => {
    worker.answers["OPTIONS */recommendations"] = shares(allowed);
    expect(await findingOf("origins", { origins })).toEqual({ check: "origins", state, text });
  });

  it("asks as a browser does, once as a page that is none", async () => {
    await found();
    const asked = worker.asksOf("OPTIONS */recommendations").map(({ headers }) => Object.fromEntries(headers));
    const preflight = { "access-control-request-method": "POST", "access-control-request-headers": "authorization,content-type" };
    expect(asked).toEqual(["https://doctor.invalid", SHOP].map((origin) => ({ origin, ...preflight })));
  });

  it("shows the beginning of the worker's reason", async () => {
    worker.answers["OPTIONS */recommendations"] = () => new Response("z".repeat(400), { status: 500 });
    expect(await findingOf("origins")).toEqual(wrong("origins", `the list of origins cannot be read: ${"z".repeat(300)}`));
  });
});

describe("senders", () => {
  it.each([
    [401, 401, "stripe and shopify may send"],
    [404, 401, "shopify may send"],
    [404, 404, "neither stripe nor shopify has a secret, so both are off"],
  ])("stripe refuses with %d, shopify with %d", async (stripe, shopify, text) => {
    Object.assign(worker.answers, { "POST /v1/hooks/stripe": refuse(stripe), "POST /v1/hooks/shopify": refuse(shopify) });
    expect(await findingOf("senders")).toEqual(ok("senders", text));
    expect(worker.asksOf("POST /v1/hooks/stripe").map(({ body }) => body)).toEqual(["{}"]);
  });

  it("shows the beginning of the worker's reason", async () => {
    worker.answers["POST /v1/hooks/shopify"] = () => new Response("z".repeat(400), { status: 503 });
    expect(await findingOf("senders")).toEqual(wrong("senders", `messages of shopify fail: ${"z".repeat(300)}`));
  });
});

describe("KV", () => {
  it("lists the model after some time", async () => {
    let asked = 0;
    worker.answers["GET /v1/models"] = ({ headers }) => {
      if (headers.get("authorization") !== "Bearer sk") return Response.json({}, { status: 403 });
      return Response.json({ models: [{ model: "other" }, ...(++asked > 4 ? [{ model: MODEL }] : [])] });
    };
    expect(await findingOf("KV")).toEqual(ok("KV", "lists the model's publication after 0.8 s"));
    expect(pauses).toEqual([250, 250, 250]);
  });

  it("is given up after ninety seconds", async () => {
    worker.answers["GET /v1/models"] = ({ headers }) =>
      headers.get("authorization") === "Bearer sk" ? Response.json({ models: [{ model: "other" }] }) : Response.json({}, { status: 403 });
    expect(await findingOf("KV")).toEqual(
      wrong("KV", "the model is not in KV after 90 s: check the binding EVENTS, and look at `npx wrangler tail`"),
    );
    expect(pauses.reduce((sum, each) => sum + each)).toBe(90_000);
  });
});

describe("clean-up", () => {
  it.each([200, 403])("does not take the answer %d for a deleted model", async (status) => {
    worker.answers["GET *"] = refuse(status);
    expect(await findingOf("clean-up")).toEqual(
      wrong("clean-up", "the model doctor-1 is still there: delete it with DELETE /v1/models/doctor-1"),
    );
  });

  it("deletes the model of an examination that its caller ends early", async () => {
    for await (const { check } of examine({ base: new URL("https://worker.example"), keys: keysWith(), model: MODEL, origins: [] })) {
      if (check === "recommendation") break;
    }
    expect(worker.exists).toBe(false);
    expect(worker.calls.at(-1)).toBe("DELETE *");
  });
});
