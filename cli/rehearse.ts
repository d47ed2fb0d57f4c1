// npm run rehearse, npx afterclick rehearse: plays a late purchase and a refund in a model of its own, and shows what is learnt.

import { Webhook } from "standardwebhooks";
import { numberIn, prepared, UsageError, type Values, workerUrl } from "./command/command.ts";
import { counted } from "./command/counted.ts";
import { print } from "./command/terminal.ts";
import { ApiError, call, shownUrl, UnreachableError } from "./worker/api.ts";
import { callersKeys } from "./worker/callers-keys.ts";
import { type Delivered, signed } from "./worker/webhook.ts";

const usage = (
  called: string,
): string => `Plays what takes days in a shop: a visitor sees a product, buys it days later, and gets a part of the money back. The order and the
refund are signed webhooks to the address that your shop uses. Prints what the model has learnt after each, and where you can see it.

Usage: ${called} --url URL [--of MODEL] [--days N]

  --url URL    URL of the worker
  --of MODEL   rehearse with the policy, the window, the goals and the catalogue of this model, which is only read
  --days N     days from the impression to the order, default 2, or half of a window that is shorter than 4 days

Example: ${called} --url http://localhost:8787

The rehearsal has a model of its own, named "rehearsal" or "rehearsal-of-MODEL". It stays until the next rehearsal, so that you can look at it.
Reads AFTERCLICK_SECRET_KEY and AFTERCLICK_WEBHOOK_SECRET from the environment or from .dev.vars in this folder.
Exit code 1: the order or the refund was not learnt.`;

const DAY_MS = 86_400_000;
const WEEK_MS = 7 * DAY_MS;
/** The order and the refund, in the currency of the goal. */
const [PAID, REFUNDED] = [40, 15];

const options = { url: { type: "string" }, of: { type: "string" }, days: { type: "string" } } as const;

/** A model as it is configured, in the words in which another is created. */
interface Configuration {
  readonly window: { readonly ms: number };
  readonly goals?: Readonly<Record<string, { readonly weight?: number; readonly value?: { readonly currency: string } }>>;
}

interface Explained {
  readonly status: string;
  readonly reward: number | null;
  readonly now: { readonly mean: number } | null;
}

async function main({ url = "", of, days: text }: Values<typeof options>): Promise<boolean> {
  const base = workerUrl(url);
  const keys = await callersKeys();
  const key = keys.get("AFTERCLICK_SECRET_KEY");
  const webhook = new Webhook(keys.webhookSecret());
  const model = of === undefined ? "rehearsal" : `rehearsal-of-${of}`;
  const { config, actions } = of === undefined ? standard() : await copied(base, key, of);
  const window = config.window.ms / DAY_MS;
  const days = text === undefined ? Math.min(2, window / 2) : numberIn("--days", text, 0, window);
  const path = `/v1/models/${model}`;
  await removed(base, key, path);
  await call(base, path, { method: "PUT", key, json: config });
  await call(base, `${path}/actions`, { method: "PUT", key, json: { actions } });

  const [goal, { value }] = Object.entries(config.goals ?? {}).find(([, { weight = 1 }]) => weight > 0) ?? ["conversion", {}];
  const amountOf = (amount: number) => (value ? `${amount} ${value.currency}` : `a reward of ${amount}`);
  const shownAt = new Date(Date.now() - days * DAY_MS);
  const [{ id: action }] = actions;
  const json = [{ action, shownAt: shownAt.toISOString() }];
  const { body: shown } = await call<{ impressions: { impressionId: string }[] }>(base, `${path}/impressions`, {
    method: "POST",
    key,
    json,
  });
  const [{ impressionId }] = shown.impressions;
  const explained = async () => (await call<Explained>(base, `/v1/impressions/${impressionId}`, { key })).body;
  const told = async (what: string, status: string) => {
    const { status: state, reward, now } = await explained();
    print(`${what}: ${status}.`);
    const expected = now ? `. The model expects ${now.mean.toPrecision(3)} of the next visitor who sees it` : "";
    print(`  The impression is ${state}${reward === null ? "" : `, with a reward of ${reward}`}${expected}.`);
  };
  const send = async (type: string, reward: number | undefined) => {
    const sentAt = new Date();
    const data = {
      impressionId,
      goal,
      ...(reward !== undefined && { reward }),
      ...(value && reward !== undefined && { currency: value.currency }),
    };
    const body = JSON.stringify({ type, timestamp: sentAt.toISOString(), data });
    const { body: answer } = await call<Delivered>(base, "/v1/conversions", signed(webhook, `rehearsal-${sentAt.getTime()}`, sentAt, body));
    return answer.conversions[0].status;
  };

  print(`Model ${model}: an order counts if it comes within ${inWords(window)}.\n`);
  await told(`A visitor saw ${action} on ${shownAt.toISOString()}`, "registered");
  const bought = await send("conversion", value ? PAID : 1);
  await told(`An order arrives ${inWords(days)} later, ${amountOf(value ? PAID : 1)}`, bought);
  const refunded = value ? await send("conversion", -REFUNDED) : await send("conversion.retracted", undefined);
  await told(value ? `A part of the order is refunded, ${amountOf(REFUNDED)}` : "The order is taken back", refunded);
  print(`\nLook at it on the dashboard: ${shownUrl(base)}/#dashboard/${model}/${impressionId}`);
  return [bought, refunded].every((status) => status === "applied");
}

/** @param days a length of time in days. */
function inWords(days: number): string {
  if (days >= 1) return counted(Number(days.toFixed(1)), "day");
  return days * 24 >= 1 ? counted(Number((days * 24).toFixed(1)), "hour") : counted(Number((days * 1440).toFixed(1)), "minute");
}

/** A shop of three products, and a goal with amounts of money. */
function standard(): { config: Configuration; actions: readonly { readonly id: string }[] } {
  const config = { window: { ms: WEEK_MS }, goals: { order: { weight: 1, value: { currency: "EUR" } } } };
  return { config, actions: ["tent", "mug", "lamp"].map((id) => ({ id })) };
}

/** The configuration and the catalogue of a model. */
async function copied(base: URL, key: string, of: string) {
  const { body: described } = await call<Configuration & Readonly<Record<string, unknown>>>(base, `/v1/models/${of}`, { key });
  const { body: catalogue } = await call<{ actions: { id: string }[] }>(base, `/v1/models/${of}/actions`, { key });
  if (catalogue.actions.length === 0) throw new UsageError(`--of: expected a model with a catalogue, got ${of}, which has no actions`);
  const names = ["policy", "options", "window", "goals", "reward", "encoder"].filter((name) => described[name] != null);
  const config = Object.fromEntries(names.map((name) => [name, described[name]])) as unknown as Configuration;
  return { config, actions: catalogue.actions };
}

/** Deletes the model of an earlier rehearsal. */
async function removed(base: URL, key: string, path: string): Promise<void> {
  await call(base, path, { method: "DELETE", key }).catch((error) => {
    if (!(error instanceof ApiError && error.status === 404)) throw error;
  });
}

export const run = prepared({ name: "rehearse", usage, options, known: [ApiError, UnreachableError], run: main });
