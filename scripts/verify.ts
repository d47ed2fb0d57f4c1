// npm run verify: replays an exported log, and compares every decision and every digest.
import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { command, unreadable } from "./command.ts";
import { countingBar } from "./progress.ts";
import { LogMismatch } from "./verify/event-log.ts";
import { verify } from "./verify/verification.ts";

const USAGE = `Verifies a model's log. Replays it through the same core and compares decisions, probabilities, digests and outcomes bit for bit,
and every line with its receipt. Exit code 1: names the first event that differs.

Usage: npm run verify -- EVENTS

  EVENTS   a complete log from GET /v1/models/:model/events; retention and erasure must not have removed lines

Example: npm run verify -- events.jsonl`;

async function main(_: object, file: string): Promise<void> {
  const texts = () => createInterface({ input: createReadStream(file), crlfDelay: Number.POSITIVE_INFINITY });
  const bar = countingBar("events");
  const { head, lines, last, tally } = await verify(texts, bar.update).finally(bar.stop);
  const { decisions, elsewhere, before, conversions, digests } = tally;
  console.log(`${lines} events of model ${head.model}, up to event ${last}: all verified`);
  console.log(`  ${decisions} decisions with their probabilities, ${conversions} conversions, ${digests} digests`);
  if (before > 0)
    console.log(`  ${before} impressions were decided before the model learnt its log again: only their learning is verified`);
  if (elsewhere > 0) console.log(`  ${elsewhere} impressions were decided elsewhere: only their learning is verified`);
}

await command({
  usage: USAGE,
  argument: "file EVENTS",
  explain: (error) => (error instanceof LogMismatch ? `Not verified: ${error.message}` : unreadable(error)),
  run: main,
});
