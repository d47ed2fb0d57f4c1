// The clients of a soak. They remember each answer, because `check.ts` asks for it.

import { setTimeout as sleep } from "node:timers/promises";
import { Webhook } from "standardwebhooks";
import { ApiError, type Call, call, UnreachableError } from "../../cli/worker/api.ts";
import { type Delivered, signed } from "../../cli/worker/webhook.ts";
import type { Accepted } from "./check.ts";
import { converts, type Plan, type Report, reportsOf } from "./plan.ts";
import { REQUEST_NAME } from "./proxy.ts";

const CLIENTS = 24;
const TICK_MS = 100;
const RETRY_MS = 300;
const MOST_ITEMS = 4;
const TYPES = ["conversion", "conversion.updated", "conversion.retracted"] as const;
const DEVICES = ["phone", "tablet", "desktop"];
const COUNTRIES = ["PT", "ES", "FR", "DE", "IT"];

export interface Shop {
  readonly base: URL;
  readonly model: string;
  readonly key: string;
  /** `whsec_` and base64. */
  readonly secret: string;
  readonly plan: Plan;
  /** Length of each list, by default 1. */
  readonly limit?: number;
  readonly signal: AbortSignal;
}

interface Waiting {
  readonly report: Report;
  readonly impressionId: string;
  readonly shownAt: number;
  readonly dueAt: number;
}

interface Recommendation {
  readonly actions: readonly { readonly impressionId: string }[];
  readonly windowEndsAt: number;
}

/** The clients of a soak, and the answers they got. */
export class Traffic {
  /** Time at which each recommendation was answered, by the impression's UUID. */
  readonly answered = new Map<string, number>();
  /** Ids of the impressions by their UUIDs. */
  readonly ids = new Map<string, string>();
  readonly accepted: Accepted[] = [];
  /** Errors of webhooks that were given up. Empty if all is well. */
  readonly failures: string[] = [];
  /** Requests for a list that were answered with an error. */
  refused = 0;
  /** Time of the newest impression, ms since 1970. */
  lastShownAt = 0;
  readonly #shop: Shop;
  readonly #webhook: Webhook;
  readonly #sending = new Set<Promise<void>>();
  #waiting: Waiting[] = [];
  #belated: Waiting[] = [];
  #webhooks = 0;

  constructor(shop: Shop) {
    this.#shop = shop;
    this.#webhook = new Webhook(shop.secret);
  }

  /** Requests all recommendations. Sends all reports except those that wait until the buckets are closed. */
  async run(): Promise<void> {
    let index = 0;
    let open = CLIENTS;
    const client = async () => {
      while (index < this.#shop.plan.recommendations) await this.#recommend(index++);
      open--;
    };
    const reporting = async () => {
      while (open > 0 || this.#waiting.length > 0) {
        await sleep(TICK_MS, undefined, { signal: this.#shop.signal });
        const now = Date.now();
        const due = this.#waiting.filter(({ dueAt }) => dueAt <= now);
        this.#waiting = this.#waiting.filter(({ dueAt }) => dueAt > now);
        this.#send(due);
      }
    };
    await Promise.all([reporting(), ...Array.from({ length: CLIENTS }, client)]);
    await Promise.all(this.#sending);
  }

  /** Sends the reports that waited until the buckets were closed. */
  async runBelated(): Promise<void> {
    this.#send(this.#belated);
    await Promise.all(this.#sending);
  }

  async #recommend(index: number): Promise<void> {
    const { model, key, plan, limit } = this.#shop;
    const json = { limit, context: { country: COUNTRIES[index % COUNTRIES.length], device: DEVICES[index % DEVICES.length] } };
    const headers = { [REQUEST_NAME]: `recommendation ${index} of ${model}` };
    const path = `/v1/models/${model}/recommendations`;
    const { actions, windowEndsAt } = await this.#persist<Recommendation>(path, { method: "POST", key, headers, json });
    const [{ impressionId }] = actions;
    const shownAt = windowEndsAt - plan.windowMs;
    this.answered.set(uuidOf(impressionId), Date.now());
    this.ids.set(uuidOf(impressionId), impressionId);
    this.lastShownAt = Math.max(this.lastShownAt, shownAt);
    if (!converts(plan, index)) return;
    for (const report of reportsOf(plan, index)) {
      const waiting = { report, impressionId, shownAt, dueAt: shownAt + (report.sentAfter ?? 0) };
      (report.sentAfter === null ? this.#belated : this.#waiting).push(waiting);
    }
  }

  /** Sends reports in webhooks of one or a few items of the same type. */
  #send(reports: readonly Waiting[]): void {
    for (const type of TYPES) {
      const ofType = reports.filter(({ report }) => report.type === type);
      while (ofType.length > 0) {
        // Every other webhook has a single item, sent as an object instead of a list.
        const items = ofType.splice(0, this.#webhooks % 2 === 0 ? 1 : MOST_ITEMS);
        const sending = this.#deliver(type, items)
          .catch((error: Error) => void this.failures.push(error.message))
          .finally(() => this.#sending.delete(sending));
        this.#sending.add(sending);
      }
    }
  }

  async #deliver(type: Report["type"], items: readonly Waiting[]): Promise<void> {
    const id = `${this.#shop.model}_${this.#webhooks++}`;
    const now = new Date();
    const data = items.map(({ impressionId, shownAt, report: { happensAfter, reward } }) => ({
      impressionId,
      timestamp: shownAt + happensAfter,
      ...(reward !== null && { reward }),
    }));
    const body = JSON.stringify({ type, timestamp: now.toISOString(), data: data.length === 1 ? data[0] : data });
    const request = signed(this.#webhook, id, now, body);
    const post = async () => (await this.#persist<Delivered>("/v1/conversions", request)).conversions;
    const answers = [await post()];
    const acceptedAt = Date.now();
    if (items.some(({ report }) => report.repeated)) answers.push(await post());
    items.forEach(({ impressionId, shownAt, report: { reward } }, place) => {
      this.accepted.push({
        webhook: id,
        impression: uuidOf(impressionId),
        shownAt,
        at: data[place].timestamp,
        reward,
        sentAt: now.getTime(),
        acceptedAt,
        statuses: answers.map((answer) => answer[place].status),
      });
    });
  }

  /** Repeats a call until the worker answers with a 2xx, as a patient client does while the worker is down. */
  async #persist<Body>(path: string, options: Call): Promise<Body> {
    for (;;) {
      try {
        return (await call<Body>(this.#shop.base, path, { ...options, attempts: 1 })).body;
      } catch (error) {
        const passing = error instanceof UnreachableError || (error instanceof ApiError && (error.status >= 500 || error.status === 429));
        if (!passing) throw error;
        if (error instanceof ApiError && path.endsWith("/recommendations")) this.refused++;
      }
      await sleep(RETRY_MS, undefined, { signal: this.#shop.signal });
    }
  }
}

/** The UUID inside an impression id. */
function uuidOf(impressionId: string): string {
  const hex = Buffer.from(impressionId, "base64url").toString("hex", 3, 19);
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
