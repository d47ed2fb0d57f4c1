import { vi } from "vitest";
import { type ExaminationOptions, examine, type Finding } from "../../cli/doctor/examination.ts";

// A simulated worker that the doctor examines, one answer of which a test changes.

export const WEBHOOK_SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
export const WINDOW_MS = 600_000;
export const MODEL = "doctor-1";
export const SHOP = "https://shop.example";

/** A request to the worker. */
export interface Asked {
  /** Method and path. A path of the model begins with a star. */
  readonly call: string;
  readonly headers: Headers;
  readonly body: string;
}
export type Answer = (request: Asked) => Response | Promise<Response>;

export class ExaminedWorker {
  readonly asked: Asked[] = [];
  /** Whether the model exists. */
  exists = false;
  #model = MODEL;
  senders: readonly object[] = [];
  readonly answers: Record<string, Answer> = {
    "GET /healthz": () => Response.json({ status: "ok" }),
    "GET /v1/models": ({ headers }) => {
      if (headers.get("authorization") !== "Bearer sk") return Response.json({ detail: "not allowed" }, { status: 403 });
      return Response.json({ models: this.exists ? [{ model: this.#model }] : [] });
    },
    "PUT *": () => {
      this.exists = true;
      return Response.json({}, { status: 201 });
    },
    "GET *": () => (this.exists ? Response.json({}) : Response.json({ detail: "none" }, { status: 404 })),
    "GET */metrics": () => Response.json({ senders: this.senders }),
    "DELETE *": () => {
      this.exists = false;
      return new Response(null, { status: 204 });
    },
    "PUT */actions": () => Response.json({}),
    "POST */recommendations": () => recommended(),
    "POST /v1/models/other/recommendations": refuse(422),
    "GET /v1/models/other": () => Response.json({ relearning: null }),
    "OPTIONS */recommendations": ({ headers }) => {
      const from = headers.get("origin") as string;
      return new Response(null, { headers: from === SHOP ? { "access-control-allow-origin": from } : {} });
    },
    "POST /v1/conversions": () => Response.json({ conversions: [{ status: "applied" }] }, { status: 202 }),
    "GET /v1/impressions/i-1": () => Response.json({ status: "converted" }),
    "POST /v1/hooks/stripe": () => Response.json({}, { status: 401 }),
    "POST /v1/hooks/shopify": () => Response.json({}, { status: 404 }),
    "POST /v1/hooks/doctor-invalid": () => Response.json({}, { status: 404 }),
  };

  /** Answers the requests of this process. */
  listen(): void {
    vi.stubGlobal("fetch", async (url: URL, { method = "GET", headers, body }: RequestInit = {}) => {
      this.#model = /^\/v1\/models\/(doctor-\w+)/.exec(url.pathname)?.[1] ?? this.#model;
      const asked = {
        call: `${method} ${url.pathname.replace(/^\/v1\/models\/doctor-\w+/, "*")}`,
        headers: new Headers(headers),
        body: String(body),
      };
      this.asked.push(asked);
      return this.answers[asked.call](asked);
    });
  }

  get calls(): string[] {
    return this.asked.map(({ call }) => call);
  }

  asksOf(call: string): Asked[] {
    return this.asked.filter((each) => each.call === call);
  }
}

/** The answer of a recommendation by a worker whose clock is ahead by so many ms. */
export function recommended(aheadMs = 0, impressionId = "i-1"): Response {
  return Response.json({ windowEndsAt: Date.now() + WINDOW_MS + aheadMs, actions: [{ impressionId }] }, { status: 201 });
}

export const refuse =
  (status: number, detail = "no"): Answer =>
  () =>
    Response.json({ detail }, { status });

const KEYS: Record<string, string | undefined> = {
  AFTERCLICK_SECRET_KEY: "sk",
  AFTERCLICK_PUBLISHABLE_KEY: "pk",
};

/** The keys of a caller, some of them changed. */
export function keysWith(changed: Record<string, string | undefined> = {}): ExaminationOptions["keys"] {
  const find = (name: string) => ({ ...KEYS, ...changed })[name];
  return { get: (name) => find(name) as string, find, webhookSecret: () => WEBHOOK_SECRET };
}

/** The findings of an examination. */
export async function found(base = "https://worker.example", options: Partial<ExaminationOptions> = {}): Promise<Finding[]> {
  const findings: Finding[] = [];
  const whole = { base: new URL(base), keys: keysWith(), model: MODEL, origins: [SHOP], ...options };
  for await (const each of examine(whole)) findings.push(each);
  return findings;
}
