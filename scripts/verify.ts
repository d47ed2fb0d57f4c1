// Makes every decision of an exported log again, and learns again what it says was learnt.
import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { Presets, SingleBar } from "cli-progress";
import { LogMismatch } from "./verify/event-log.ts";
import { verify } from "./verify/verification.ts";

const USAGE = `Usage: npm run verify -- EVENTS

Replays a model's log, as GET /v1/models/:model/events has it, through the same core: every decision and its probability, every
digest of what was learnt, and what each impression came to must come out bit for bit, and each line must be what its receipt is
of. Names the first event that is not; the exit code is then 1.

The log has to be whole: nothing of it forgotten (the model's retention) or erased.`;

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
    `${lines} events of model ${head.model}, up to event ${last}: all as they come out again`,
    `  ${decisions} decisions with their probabilities, ${conversions} conversions, ${digests} digests`,
    ...(elsewhere > 0 ? [`  ${elsewhere} impressions were decided elsewhere: they were learnt as the log says, no more can be shown`] : []),
  ].join("\n");
}

function explain(error: Error): string {
  const { code } = error as NodeJS.ErrnoException;
  if (error instanceof LogMismatch) return `not verified: ${error.message}`;
  if (code === "ENOENT" || code === "EISDIR" || code === "EACCES") return `cannot read the log: ${error.message}`;
  return code?.startsWith("ERR_PARSE_ARGS") ? `${error.message}\n\n${USAGE}` : (error.stack ?? error.message);
}

try {
  const { values, positionals } = parseArgs({ allowPositionals: true, options: { help: { type: "boolean", short: "h", default: false } } });
  if (!values.help && positionals.length !== 1)
    throw Object.assign(new Error("expected one file of EVENTS"), { code: "ERR_PARSE_ARGS_COUNT" });
  console.log(values.help ? USAGE : await verified(positionals[0]));
} catch (error) {
  console.error(explain(error as Error));
  process.exit(1);
}
