// npm run replay, npx afterclick replay: sends an Open Bandit log through a running worker, compares choices, and checks that no conversion is lost.

import { basename } from "node:path";
import { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import type { SingleBar } from "cli-progress";
import { numberIn, prepared, type Values, wholeNumber, workerUrl } from "./command/command.ts";
import { counted } from "./command/counted.ts";
import { progressBar, refreshing } from "./command/progress.ts";
import { print, printError } from "./command/terminal.ts";
import { Comparison } from "./replay/comparison.ts";
import {
  type ItemCatalogue,
  inspectLog,
  itemFileOf,
  type Log,
  LogError,
  type LoggedRow,
  readCatalogue,
  readLog,
} from "./replay/open-bandit.ts";
import { conversionDelay, type Plan } from "./replay/plan.ts";
import { Sender } from "./replay/sender.ts";
import { type Counters, Tally } from "./replay/tally.ts";
import { ApiError, call, UnreachableError } from "./worker/api.ts";
import { callersKeys } from "./worker/callers-keys.ts";

const usage = (
  called: string,
): string => `Sends an Open Bandit csv or csv.gz through a running worker, into its own model, and checks that no conversion is lost.

Usage: ${called} FILE [--url URL] [--conversions RATE] [--seed N] [--window-ms MS] [--shards N] [--model NAME]

  --url URL           URL of the worker, default http://localhost:8787
  --conversions RATE  share of rows that convert besides the clicked ones, default 0.1
  --seed N            seed of conversions and delays, default 1
  --window-ms MS      attribution window in ms, default 30000
  --shards N          learners that share the model's events, default 1
  --model NAME        name of the model, default "replay-" and the file's name

Example: ${called} men.csv.gz --url http://localhost:8787 --conversions 0.1

Reads AFTERCLICK_SECRET_KEY and AFTERCLICK_WEBHOOK_SECRET from the environment or from .dev.vars in this folder.
The last line is JSON: { served, delivered, joined, duplicate, late, lost }. Exit code 1: a conversion was lost.`;

const PROGRESS =
  "{bar} {percentage}% | {value}/{total} rows served | {delivered} conversions delivered, {waiting} waiting | {duration_formatted}";
const CONCURRENCY = 16;
const REGISTERED_AT_ONCE = 100;
const SETTLE_EVERY_MS = 5_000;
/** The learner takes conversions from the KV journal 5 minutes after a window has ended. */
const JOURNAL_GRACE_MS = 6 * 60_000;

interface Counts extends Counters {
  readonly impressions: number;
}

interface Session {
  readonly file: string;
  readonly base: URL;
  readonly model: string;
  readonly plan: Plan;
  readonly shards: number;
  readonly secretKey: string;
  readonly log: Log;
  readonly catalogue: ItemCatalogue;
  /** Makes the ids of this run unique. */
  readonly run: string;
}

const options = {
  url: { type: "string", default: "http://localhost:8787" },
  conversions: { type: "string", default: "0.1" },
  seed: { type: "string", default: "1" },
  "window-ms": { type: "string", default: "30000" },
  shards: { type: "string", default: "1" },
  model: { type: "string" },
} as const;

async function main(values: Values<typeof options>, file: string): Promise<boolean> {
  const base = workerUrl(values.url);
  const model = values.model ?? `replay-${basename(file).replace(/\.csv(\.gz)?$/, "")}`;
  const plan = {
    seed: numberIn("--seed", values.seed, 0, Number.MAX_SAFE_INTEGER),
    rate: numberIn("--conversions", values.conversions, 0, 1),
    windowMs: numberIn("--window-ms", values["window-ms"], 1000, 30 * 86_400_000),
  };
  const keys = await callersKeys();
  const secretKey = keys.get("AFTERCLICK_SECRET_KEY");
  const webhookSecret = keys.webhookSecret();
  const log = await inspectLog(file);
  const catalogue = await readCatalogue(log, itemFileOf(file));
  const shards = wholeNumber("--shards", values.shards, 1);
  const session = { file, base, model, plan, shards, secretKey, log, catalogue, run: Date.now().toString(36) };

  await call(base, "/healthz", { attempts: 1 });
  await configure(session);
  const before = await countsOf(session);
  print(
    `${basename(file)}: ${counted(log.rows, "row")}, ${counted(log.items.length, "item")}, into model ${model} (${counted(before.impressions, "earlier impression")})`,
  );
  const tally = new Tally();
  const sender = new Sender({ base, secret: webhookSecret, run: session.run, plan, tally });
  const comparison = new Comparison();
  const bar = progressBar(PROGRESS);
  const progress = () => ({ delivered: tally.delivered, waiting: sender.waiting });
  bar.start(log.rows, 0, progress());
  refreshing(bar, () => bar.update(progress()));
  try {
    await Promise.all([serve(session, comparison, sender, bar), sender.run()]);
    await settle(session, tally);
  } finally {
    bar.stop();
  }
  tally.crossCheck(before, await countsOf(session));

  for (const line of comparison.report(log.items.length)) print(line);
  for (const [reason, count] of tally.losses) printError(`lost ${count}: ${reason}`);
  print(JSON.stringify({ served: comparison.rows, delivered: tally.delivered, ...tally.counts }));
  return tally.counts.lost === 0;
}

/** Creates the model. The same configuration changes nothing, so a second run continues with the model's state. */
async function configure({ base, model, secretKey: key, plan, shards, catalogue }: Session): Promise<void> {
  const { actions, encoder } = catalogue;
  const where = shards > 1 ? { shards } : { serving: "learner" };
  await call(base, `/v1/models/${model}`, { method: "PUT", key, json: { window: { ms: plan.windowMs }, ...where, encoder } });
  await call(base, `/v1/models/${model}/actions`, { method: "PUT", key, json: { actions } });
}

async function countsOf({ base, model, secretKey: key }: Session): Promise<Counts> {
  return (await call<{ counts: Counts }>(base, `/v1/models/${model}`, { key })).body.counts;
}

/** Requests a recommendation for each row, registers the logged impression, and schedules the conversions. */
async function serve(session: Session, comparison: Comparison, sender: Sender, bar: SingleBar): Promise<void> {
  const { base, model, secretKey: key } = session;
  const served = Readable.from(readLog(session.file)).map(
    async (row: LoggedRow) => {
      const request = { method: "POST", key, json: { context: row.context } } as const;
      const { body } = await call<{ actions: { id: string }[] }>(base, `/v1/models/${model}/recommendations`, request);
      return { row, chosen: body.actions[0].id };
    },
    { concurrency: CONCURRENCY },
  );
  let shown: LoggedRow[] = [];
  for await (const { row, chosen } of served) {
    comparison.count(row, chosen);
    bar.increment();
    shown.push(row);
    if (shown.length < REGISTERED_AT_ONCE) continue;
    await register(session, shown, sender);
    shown = [];
  }
  if (shown.length > 0) await register(session, shown, sender);
  sender.complete();
}

async function register({ base, model, secretKey: key, run, plan }: Session, rows: readonly LoggedRow[], sender: Sender): Promise<void> {
  const shownAt = Date.now();
  const json = rows.map(({ index, item, context }) => ({ id: `${model}-${run}-${index}`, context, action: item, shownAt }));
  const path = `/v1/models/${model}/impressions`;
  const { body } = await call<{ impressions: { impressionId: string }[] }>(base, path, { method: "POST", key, json });
  rows.forEach((row, i) => {
    const delayMs = conversionDelay(plan, row);
    if (delayMs !== undefined) sender.schedule(row.index, body.impressions[i].impressionId, shownAt, delayMs);
  });
}

/** Waits for conversions that were only in the KV journal. The learner takes them when it closes their bucket. */
async function settle({ base, secretKey: key, plan }: Session, tally: Tally): Promise<void> {
  let waiting = tally.accepted;
  const deadline = Date.now() + plan.windowMs + JOURNAL_GRACE_MS;
  if (waiting.length > 0) printError(`Waiting until the learner has taken ${counted(waiting.length, "conversion")} from the KV journal.`);
  while (waiting.length > 0) {
    const expired = Date.now() > deadline;
    const open = [];
    for (const event of waiting) {
      const { body } = await call<{ status: string }>(base, `/v1/impressions/${event.impressionId}`, { key });
      const converted = body.status === "converted";
      if (converted || expired || event.happenedAt > event.windowEndsAt) tally.settle(event, converted);
      else open.push(event);
    }
    waiting = open;
    if (waiting.length > 0) await sleep(SETTLE_EVERY_MS);
  }
}

export const run = prepared({
  name: "replay",
  usage,
  options,
  argument: "FILE",
  known: [LogError, ApiError, UnreachableError],
  explain: (error) =>
    error instanceof ApiError && error.status === 401 ? `${error.message}. Use the AFTERCLICK_ keys of this worker.` : undefined,
  run: main,
});
