// A shop's backend that delivers late, twice and in another order, as real ones do.

import { setTimeout as sleep } from "node:timers/promises";
import { Webhook } from "standardwebhooks";
import { ApiError, call, UnreachableError } from "../worker/api.ts";
import { type Delivered, signed } from "../worker/webhook.ts";
import { type Plan, repeatDelay, shuffled } from "./plan.ts";
import type { Event, Tally } from "./tally.ts";

const TICK_MS = 200;
const MOST_ITEMS = 8;

interface SenderOptions {
  readonly base: URL;
  readonly secret: string;
  /** Makes the webhook ids of this run unique. */
  readonly run: string;
  readonly plan: Plan;
  readonly tally: Tally;
}

interface Waiting {
  readonly event: Event;
  readonly row: number;
  readonly dueAt: number;
}

/** The content of a webhook. Each delivery signs it anew, because the worker refuses a signature that is older than five minutes. */
interface Message {
  readonly id: string;
  readonly body: string;
  readonly events: readonly Event[];
}

/** Simulates a shop's backend: sends due conversions in signed webhooks, out of order and some of them twice. */
export class Sender {
  readonly #options: SenderOptions;
  readonly #webhook: Webhook;
  #waiting: Waiting[] = [];
  #repeats: { readonly message: Message; readonly dueAt: number }[] = [];
  #webhooks = 0;
  #complete = false;

  constructor(options: SenderOptions) {
    this.#options = options;
    this.#webhook = new Webhook(options.secret);
  }

  schedule(row: number, impressionId: string, shownAt: number, delayMs: number): void {
    const event = { impressionId, windowEndsAt: shownAt + this.#options.plan.windowMs, happenedAt: 0 };
    this.#waiting.push({ event, row, dueAt: shownAt + delayMs });
  }

  /** Number of pending deliveries. */
  get waiting(): number {
    return this.#waiting.length + this.#repeats.reduce((sum, { message }) => sum + message.events.length, 0);
  }

  /** Declares that no more conversions will be scheduled. `run` then ends after the last delivery. */
  complete(): void {
    this.#complete = true;
  }

  /** @throws {ApiError} if the worker refuses the signature, because it would refuse every webhook of this run. */
  async run(): Promise<void> {
    while (!this.#complete || this.#waiting.length > 0 || this.#repeats.length > 0) {
      await sleep(TICK_MS);
      await Promise.all(this.#due(Date.now()).map((message) => this.#deliver(message)));
    }
  }

  #due(now: number): Message[] {
    const repeats = this.#repeats.filter(({ dueAt }) => dueAt <= now).map(({ message }) => message);
    this.#repeats = this.#repeats.filter(({ dueAt }) => dueAt > now);
    const due = this.#waiting.filter(({ dueAt }) => dueAt <= now);
    this.#waiting = this.#waiting.filter(({ dueAt }) => dueAt > now);
    const events = shuffled(this.#options.plan, due, ({ row }) => row).map(({ event }) => event);
    const webhooks = Array.from({ length: Math.ceil(events.length / MOST_ITEMS) }, (_, i) => {
      const message = this.#messageOf(events.slice(i * MOST_ITEMS, (i + 1) * MOST_ITEMS), now);
      const delay = repeatDelay(this.#options.plan, this.#webhooks++);
      if (delay !== undefined) this.#repeats.push({ message, dueAt: now + TICK_MS + delay });
      return message;
    });
    return [...webhooks, ...repeats];
  }

  #messageOf(events: Event[], now: number): Message {
    for (const event of events) event.happenedAt = now;
    const id = `msg_${this.#options.run}_${this.#webhooks}`;
    const data = events.map(({ impressionId }) => ({ impressionId, reward: 1 }));
    const body = JSON.stringify({ type: "conversion", timestamp: new Date(now).toISOString(), data });
    return { id, body, events };
  }

  async #deliver({ id, body, events }: Message): Promise<void> {
    const { base, tally } = this.#options;
    try {
      const answer = await call<Delivered>(base, "/v1/conversions", signed(this.#webhook, id, new Date(), body));
      events.forEach((event, i) => {
        tally.classify(event, answer.body.conversions[i]?.status ?? "nothing", answer.resent);
      });
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) throw error;
      if (!(error instanceof ApiError || error instanceof UnreachableError)) throw error;
      tally.lose(error.message, events.length);
    }
  }
}
