// The checks of `doctor`: a small model is created, asked, told a conversion and deleted. It knows the worker by its HTTP interface alone.

import { setTimeout as sleep } from "node:timers/promises";
import { Webhook } from "standardwebhooks";
import { UsageError } from "../command/command.ts";
import { counted } from "../command/counted.ts";
import { ApiError, call, shownUrl, UnreachableError, urlOf } from "../worker/api.ts";
import type { callersKeys } from "../worker/callers-keys.ts";
import { type Delivered, signed } from "../worker/webhook.ts";

/** Window of the model that the examination makes for itself, in ms. */
const WINDOW_MS = 600_000;
/** Webhooks whose time differs by more than five minutes are refused. */
const MOST_SKEW_MS = 60_000;
const LEARNT_WITHIN_MS = 20_000;
/** KV shows a write elsewhere within about a minute. */
const LISTED_WITHIN_MS = 90_000;
const POLL_MS = 250;
const SENDERS = ["stripe", "shopify", "woocommerce"];
/** A name that no sender has. Its answer shows whether AFTERCLICK_SENDERS can be read. */
const NO_SENDER = "doctor-invalid";
/** Most failing models that a finding names. */
const MOST_NAMED = 5;
/** An origin that no page has. */
const NO_ORIGIN = "https://doctor.invalid";

/** Orders of a sender, as the worker's metrics state them. The newest day comes first. */
interface Day {
  readonly day: string;
  readonly orders: number;
  readonly attributed: number;
  readonly ignored?: Readonly<Record<string, number>>;
}
interface SenderFigures {
  readonly sender: string;
  readonly days: readonly Day[];
  readonly finding: string | null;
}

/** The result of a check. A wrong one says what to do. */
export interface Finding {
  readonly check: string;
  readonly state: "ok" | "wrong" | "skipped";
  readonly text: string;
}

export interface ExaminationOptions {
  readonly base: URL;
  readonly keys: Awaited<ReturnType<typeof callersKeys>>;
  /** Name of a model that does not exist. */
  readonly model: string;
  /** Origins whose pages are to call the worker. */
  readonly origins: readonly string[];
}

/** A fault of the worker, and its remedy. */
class Wrong extends Error {}

interface Relearning {
  readonly done: number;
  readonly rows: number;
}

/** The part of a model's description that tells why conversions wait. */
interface Described {
  readonly relearning?: Relearning | null;
  readonly counts?: { readonly orphan: number };
  readonly incidents?: Readonly<Record<string, number>>;
}

/** Fewer orphans are normal. */
const LEAST_ORPHANS = 20;
/** Share of the orphans' reasons from which on one is their pattern. */
const PATTERN_SHARE = 0.8;
/** Findings about orphans, by the counter of their reason. */
const PATTERNS: Readonly<Record<string, string>> = {
  unknownKeys: "no impression has their key: give recommendations the key that the orders have",
  otherActions: "the impressions of their key are of other products: compare the orders' action with the ids of the catalogue",
  otherTimes: "the impressions of their key were shown after them, or longer before than the window: compare the clocks and the window",
  ofPages: "only pages gave their key: ask for recommendations with the secret key, or set the model's pageKeys",
  withoutAction: "they name no action, and the lists of their key have several: send the action",
};

interface Recommended {
  readonly windowEndsAt: number;
  readonly actions: readonly { readonly impressionId: string }[];
}

/** Checks a worker end to end. The model exists only while the checks run. */
export async function* examine(options: ExaminationOptions): AsyncGenerator<Finding> {
  const examination = new Examination(options);
  for (const [check, run] of examination.beforehand()) {
    const finding = await outcome(check, run);
    yield finding;
    if (finding.state === "wrong") return;
  }
  yield await outcome("models", () => examination.checkModels());
  let broken = "";
  // Without the model, no check says anything of the worker.
  const isSkipped = (needs: boolean): boolean => broken === "model" || (broken !== "" && needs);
  try {
    for (const [check, run, needs] of examination.inModel()) {
      const finding: Finding = isSkipped(needs) ? { check, state: "skipped", text: `needs "${broken}"` } : await outcome(check, run);
      yield finding;
      if (finding.state === "wrong" && needs) broken ||= check;
    }
  } finally {
    // An early end of the caller's loop deletes the model too.
    await examination.remove().catch(() => {});
  }
  yield await outcome("clean-up", () => examination.checkRemoved());
}

async function outcome(check: string, run: () => Promise<string>): Promise<Finding> {
  try {
    return { check, state: "ok", text: await run() };
  } catch (error) {
    if (error instanceof Wrong || error instanceof UsageError) return { check, state: "wrong", text: error.message };
    if (error instanceof ApiError || error instanceof UnreachableError) {
      return { check, state: "wrong", text: `${error.message}${remedyOf(error)}` };
    }
    throw error;
  }
}

function remedyOf(error: Error): string {
  const status = error instanceof ApiError ? error.status : 0;
  if (status === 503) return ". Send again in a minute; if it stays, look at `npx wrangler tail`";
  if (status === 500) return ". If a variable is named, set it; otherwise look at `npx wrangler tail`";
  return "";
}

type Check = readonly [check: string, run: () => Promise<string>];

class Examination {
  readonly #options: ExaminationOptions;
  /** The models that the worker lists. */
  #models: readonly string[] = [];
  #shown: Recommended | undefined;

  constructor(options: ExaminationOptions) {
    this.#options = options;
  }

  /** The checks without which no other makes sense. */
  beforehand(): Check[] {
    return [
      ["address", () => this.#address()],
      ["secret key", () => this.#secretKey()],
    ];
  }

  /** The other checks. The third value: whether the next ones need this one, and it the ones before. */
  inModel(): (readonly [...Check, needs: boolean])[] {
    return [
      ["model", () => this.#create(), true],
      ["recommendation", () => this.#recommend(), true],
      ["clock", () => this.#clock(), false],
      ["webhook", () => this.#convert(), true],
      ["learning", () => this.#learn(), true],
      ["publishable key", () => this.#publishableKey(), false],
      ["origins", () => this.#origins(), false],
      ["senders", () => this.#senders(), false],
      ["KV", () => this.#listed(), false],
    ];
  }

  async remove(): Promise<void> {
    await this.#call("", { method: "DELETE" });
  }

  async checkRemoved(): Promise<string> {
    const left = await this.#call("").then(
      () => true,
      (error) => !(error instanceof ApiError && error.status === 404),
    );
    if (left) throw new Wrong(`the model ${this.#options.model} is still there: delete it with DELETE ${this.#path}`);
    return `model ${this.#options.model} deleted`;
  }

  async #address(): Promise<string> {
    const { base } = this.#options;
    const local = /^(localhost|127\.0\.0\.1|\[::1\])$/.test(base.hostname);
    if (base.protocol === "http:" && !local) throw new Wrong("the address begins with http: keys would travel in the clear. Use https");
    const start = performance.now();
    const { body } = await call<{ status?: string }>(base, "/healthz", { attempts: 2 }).catch((error) => {
      if (!(error instanceof ApiError)) throw error;
      throw new Wrong(`${error.message}. Another program has this address: check the URL, and the path if the worker is mounted`);
    });
    if (body?.status !== "ok") throw new Wrong("/healthz is not that of afterclick: check the URL");
    return `${shownUrl(base)} answers in ${Math.round(performance.now() - start)} ms`;
  }

  async #secretKey(): Promise<string> {
    const { base, keys } = this.#options;
    const { body } = await call<{ models: { model: string }[] }>(base, "/v1/models", {
      key: keys.get("AFTERCLICK_SECRET_KEY"),
      attempts: 2,
    }).catch((error) => {
      if (!(error instanceof ApiError) || (error.status !== 401 && error.status !== 403)) throw error;
      throw new Wrong(`${error.message}. Set AFTERCLICK_SECRET_KEY to the secret key of this worker`);
    });
    this.#models = body.models.map(({ model }) => model);
    return `accepted; published models: ${this.#models.length}`;
  }

  /** Tries each listed model. @throws {Wrong} naming those that fail, with their answers. */
  async checkModels(): Promise<string> {
    const [failing, orphans]: string[][] = [[], []];
    let relearning = "";
    for (const model of this.#models) {
      try {
        const described = await this.#try(model);
        const rows = described.relearning;
        orphans.push(...patternOf(model, described));
        if (rows) relearning += `; ${model} learns its log again: ${rows.done} of ${rows.rows} rows`;
      } catch (error) {
        if (!(error instanceof ApiError || error instanceof UnreachableError)) throw error;
        // KV may list a model for a minute after its deletion.
        if (!(error instanceof ApiError) || error.status >= 500) failing.push(error.message + remedyOf(error));
      }
    }
    if (failing.length === 0 && orphans.length > 0) throw new Wrong(orphans.join("; "));
    if (failing.length === 0) return `decide, and their learners answer: ${this.#models.length}${relearning}`;
    const more = failing.length > MOST_NAMED ? `; and ${failing.length - MOST_NAMED} more` : "";
    throw new Wrong(`${failing.length} of ${this.#models.length} fail: ${failing.slice(0, MOST_NAMED).join("; ")}${more}`);
  }

  /** Asks a model for a list with a pin that no catalogue has: it is refused as late as possible, so no impression is left. */
  async #try(model: string): Promise<Described> {
    const { base, keys, model: unknown } = this.#options;
    const [path, key] = [`/v1/models/${model}`, keys.get("AFTERCLICK_SECRET_KEY")];
    const json = { pin: [{ action: unknown, place: 0 }] };
    await call(base, `${path}/recommendations`, { method: "POST", json, key, attempts: 2 }).catch((error) => {
      if (!(error instanceof ApiError) || error.status !== 422) throw error;
    });
    return (await call<Described>(base, path, { key, attempts: 2 })).body;
  }

  async #create(): Promise<string> {
    await this.#call("", { method: "PUT", json: { window: { ms: WINDOW_MS } } });
    await this.#call("/actions", { method: "PUT", json: { actions: [{ id: "left" }, { id: "right" }] } });
    return `${this.#options.model} created, with two actions`;
  }

  async #recommend(): Promise<string> {
    const start = performance.now();
    const json = { keys: [`order of ${this.#options.model}`] };
    this.#shown = (await this.#call<Recommended>("/recommendations", { method: "POST", json })).body;
    return `decided in ${Math.round(performance.now() - start)} ms`;
  }

  /** The end of the window states the worker's time. */
  async #clock(): Promise<string> {
    const sent = Date.now();
    const { body } = await this.#call<Recommended>("/recommendations", { method: "POST", json: {} });
    const skew = body.windowEndsAt - WINDOW_MS - (sent + Date.now()) / 2;
    const seconds = (Math.abs(skew) / 1000).toFixed(1);
    if (Math.abs(skew) > MOST_SKEW_MS)
      throw new Wrong(
        `this machine's clock is ${seconds} s ${skew > 0 ? "behind" : "ahead of"} the worker's. Signatures are refused beyond 300 s: synchronise this clock`,
      );
    return `differs by ${seconds} s from the worker's`;
  }

  async #convert(): Promise<string> {
    const { base, keys, model } = this.#options;
    const impressionId = this.#shown?.actions[0].impressionId;
    const body = JSON.stringify({ type: "conversion", timestamp: Date.now(), data: { impressionId, reward: 1 } });
    const webhook = signed(new Webhook(keys.webhookSecret()), model, new Date(), body);
    const { body: delivered } = await call<Delivered>(base, "/v1/conversions", { ...webhook, attempts: 2 }).catch((error) => {
      if (!(error instanceof ApiError) || error.status !== 401) throw error;
      throw new Wrong(`${error.message}. Set AFTERCLICK_WEBHOOK_SECRET to a webhook secret of this worker`);
    });
    const [{ status }] = delivered.conversions;
    if (status === "accepted") throw new Wrong("accepted by KV only: the learner cannot be reached. Look at `npx wrangler tail`");
    if (status !== "applied" && status !== "orphan")
      throw new Wrong(`expected applied, got ${status}. docs/operations.md#statuses-of-a-conversion says why`);
    return "signed, verified and taken";
  }

  async #learn(): Promise<string> {
    const start = performance.now();
    const impressionId = this.#shown?.actions[0].impressionId ?? "";
    const { base, keys } = this.#options;
    const key = keys.get("AFTERCLICK_SECRET_KEY");
    const learnt = await within(LEARNT_WITHIN_MS, async () => {
      const path = `/v1/impressions/${encodeURIComponent(impressionId)}`;
      // An impression that is not registered yet is a 404.
      const found = await call<{ status: string }>(base, path, { key }).catch((error) => {
        if (!(error instanceof ApiError) || error.status !== 404) throw error;
      });
      return found?.body.status === "converted";
    });
    if (!learnt)
      throw new Wrong(`not learnt within ${LEARNT_WITHIN_MS / 1000} s: the impression is not registered. Look at \`npx wrangler tail\``);
    return `learnt ${((performance.now() - start) / 1000).toFixed(1)} s after the answer`;
  }

  async #publishableKey(): Promise<string> {
    const { base, keys } = this.#options;
    const key = keys.find("AFTERCLICK_PUBLISHABLE_KEY");
    if (!key) return "not given, so not checked: set AFTERCLICK_PUBLISHABLE_KEY";
    await this.#call("/recommendations", { method: "POST", json: {}, key }).catch((error) => {
      if (!(error instanceof ApiError) || error.status !== 401) throw error;
      throw new Wrong(`${error.message}. Set AFTERCLICK_PUBLISHABLE_KEY to the publishable key of this worker`);
    });
    const refused = await call(base, "/v1/models", { key }).then(
      () => false,
      (error) => error instanceof ApiError && error.status === 403,
    );
    if (!refused) throw new Wrong("AFTERCLICK_PUBLISHABLE_KEY has the rights of a secret key. Generate another one at once");
    return "may ask for recommendations, and nothing else";
  }

  async #origins(): Promise<string> {
    const { origins } = this.#options;
    const shared = await Promise.all([NO_ORIGIN, ...origins].map((origin) => this.#sharesWith(origin)));
    const missing = origins.filter((_, i) => !shared[i + 1]);
    if (missing.length > 0)
      throw new Wrong(
        `pages of ${missing.join(", ")} may not call the worker: add the origin to AFTERCLICK_ALLOWED_ORIGINS, as browsers write it`,
      );
    if (shared[0]) return "pages of every origin may use the publishable key (*)";
    return origins.length > 0 ? `pages of ${origins.join(", ")} may call, others may not` : "others than the listed ones are refused";
  }

  /** Sends the preflight of a page. @throws {Wrong} if the list of origins is malformed. */
  async #sharesWith(origin: string): Promise<boolean> {
    const headers = { origin, "access-control-request-method": "POST", "access-control-request-headers": "authorization,content-type" };
    const response = await fetch(urlOf(this.#options.base, `${this.#path}/recommendations`), { method: "OPTIONS", headers });
    const text = await response.text();
    if (response.status >= 500) throw new Wrong(`the list of origins cannot be read: ${text.slice(0, 300)}`);
    return response.headers.get("access-control-allow-origin") === origin;
  }

  /** Sends each sender a message without a signature. One whose secret is in order refuses it. @throws {Wrong} */
  async #senders(): Promise<string> {
    const statuses = await Promise.all([...SENDERS, NO_SENDER].map((name) => this.#statusOf(name)));
    const on = SENDERS.filter((_, i) => statuses[i] === 401);
    const { senders } = (await this.#call<{ senders: readonly SenderFigures[] }>("/metrics")).body;
    const findings = senders.flatMap(({ finding }) => finding ?? []);
    if (findings.length > 0) throw new Wrong(findings.join(". "));
    const texts = senders.map(({ sender, days: [{ day, orders, attributed, ignored = {} }] }) => {
      const reasons = Object.entries(ignored).map(([reason, count]) => `, ${count} ignored: ${reason}`);
      return `; ${sender} on ${day}: ${attributed} of ${counted(orders, "order")} with an impression id or a key${reasons.join("")}`;
    });
    return (on.length > 0 ? `${on.join(" and ")} may send` : "no sender of orders has a secret, so all are off") + texts.join("");
  }

  async #statusOf(sender: string): Promise<number> {
    const response = await fetch(urlOf(this.#options.base, `/v1/hooks/${sender}`), { method: "POST", body: "{}" });
    const text = await response.text();
    if (response.status >= 500) throw new Wrong(`messages of ${sender} fail: ${text.slice(0, 300)}`);
    return response.status;
  }

  async #listed(): Promise<string> {
    const { base, keys, model } = this.#options;
    const key = keys.get("AFTERCLICK_SECRET_KEY");
    const start = performance.now();
    const listed = await within(LISTED_WITHIN_MS, async () => {
      const { body } = await call<{ models: { model: string }[] }>(base, "/v1/models", { key });
      return body.models.some((each) => each.model === model);
    });
    if (!listed)
      throw new Wrong(
        `the model is not in KV after ${LISTED_WITHIN_MS / 1000} s: check the binding EVENTS, and look at \`npx wrangler tail\``,
      );
    return `lists the model's publication after ${((performance.now() - start) / 1000).toFixed(1)} s`;
  }

  get #path(): string {
    return `/v1/models/${this.#options.model}`;
  }

  #call<Body>(path: string, options: Parameters<typeof call>[2] = {}): Promise<{ body: Body }> {
    const key = this.#options.keys.get("AFTERCLICK_SECRET_KEY");
    return call<Body>(this.#options.base, `${this.#path}${path}`, { key, attempts: 3, ...options });
  }
}

/** Why many conversions of a model wait for their impressions, if most of them have one reason. */
function patternOf(model: string, { counts, incidents = {} }: Described): string[] {
  const reasons = Object.keys(PATTERNS).map((name) => ({ name, count: incidents[name] ?? 0 }));
  const all = reasons.reduce((sum, { count }) => sum + count, 0);
  const main = reasons.find(({ count }) => count >= LEAST_ORPHANS && count >= PATTERN_SHARE * all);
  if (!counts || counts.orphan < LEAST_ORPHANS || !main) return [];
  return [`${counts.orphan} conversions of ${model} wait for an impression, and of most ${PATTERNS[main.name]}`];
}

async function within(limitMs: number, holds: () => Promise<boolean>): Promise<boolean> {
  const deadline = performance.now() + limitMs;
  while (!(await holds())) {
    if (performance.now() >= deadline) return false;
    await sleep(POLL_MS);
  }
  return true;
}
