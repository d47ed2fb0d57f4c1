// npm run verify: replays an exported log, and compares every decision and every digest.
import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { Presets, SingleBar } from "cli-progress";
import { LogMismatch } from "./verify/event-log.ts";
import { verify } from "./verify/verification.ts";

const USAGE = `Verifies a model's log. Replays it through the same core and compares decisions, probabilities, digests and outcomes bit for bit,
and every line with its receipt. Exit code 1: names the first event that differs.

Usage: npm run verify -- EVENTS

  EVENTS   a complete log from GET /v1/models/:model/events; retention and erasure must not have removed lines`;

async function verified(file: string): Promise<string> {
  const texts = () => createInterface({ input: createReadStream(file), crlfDelay: Number.POSITIVE_INFINITY });
  const format = "{bar} {percentage}% | {value}/{total} events | {eta_formatted} left";
  const bar = new SingleBar(
    { format, stream: process.stderr, noTTYOutput: true, notTTYSchedule: 10_000, clearOnComplete: true },
    Presets.rect,
  );
  const { head, lines, last, tally } = await verify(texts, {
    start: (events) => bar.start(events, 0),
    update: (events) => bar.update(events),
  }).finally(() => bar.stop());
  const { decisions, elsewhere, conversions, digests } = tally;
  return [
    `${lines} events of model ${head.model}, up to event ${last}: all verified`,
    `  ${decisions} decisions with their probabilities, ${conversions} conversions, ${digests} digests`,
    ...(elsewhere > 0 ? [`  ${elsewhere} impressions were decided elsewhere: only their learning is verified`] : []),
  ].join("\n");
}

function explain(error: Error): string {
  const { code } = error as NodeJS.ErrnoException;
  if (error instanceof LogMismatch) return `Not verified: ${error.message}`;
  if (code === "ENOENT" || code === "EISDIR" || code === "EACCES") return `Cannot read the log: ${error.message}`;
  return code?.startsWith("ERR_PARSE_ARGS") ? `${error.message}\n\n${USAGE}` : (error.stack ?? error.message);
}

try {
  const { values, positionals } = parseArgs({ allowPositionals: true, options: { help: { type: "boolean", short: "h", default: false } } });
  if (!values.help && positionals.length !== 1)
    throw Object.assign(new Error(`expected one file EVENTS, got ${positionals.length}`), { code: "ERR_PARSE_ARGS_COUNT" });
  console.log(values.help ? USAGE : await verified(positionals[0]));
} catch (error) {
  console.error(explain(error as Error));
  process.exit(1);
}
