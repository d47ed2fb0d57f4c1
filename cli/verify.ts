// npm run verify, npx afterclick verify: replays an exported log, and compares every decision and every digest.

import { statSync } from "node:fs";
import { ArchiveError } from "../worker/domain/archive/archive-file.ts";
import { archiveIn, headOf } from "./archive/folder.ts";
import { ArchivedLog } from "./archive/whole-log.ts";
import { prepared, unreadable, type Values } from "./command/command.ts";
import { counted } from "./command/counted.ts";
import { countingBars } from "./command/progress.ts";
import { print } from "./command/terminal.ts";
import { LogMismatch } from "./log/event-line.ts";
import { textLines } from "./log/text-lines.ts";
import { verify, verifyArchive } from "./verify/verification.ts";

const usage = (
  called: string,
): string => `Verifies a model's log. Replays it through the same core and compares decisions, probabilities, digests and outcomes bit for bit,
and every line with its receipt. Exit code 1: names the first event that differs.

Usage: ${called} EVENTS [--archive DIR]

  EVENTS          a log from GET /v1/models/:model/events from which nothing was erased, or a folder with an archive alone
  --archive DIR   a folder with the archived files of the model, for a log whose oldest events have passed the retention

Example: ${called} events.jsonl`;

const options = { archive: { type: "string" } } as const;

async function main({ archive: folder }: Values<typeof options>, file: string): Promise<void> {
  const bars = countingBars("events checked", "events verified");
  const [checked, verified] = bars.updates;
  const progress = { checked, verified };
  const run = async () => {
    if (statSync(file).isDirectory()) {
      const archive = await archiveIn(file);
      return verifyArchive(archive, headOf(archive), progress);
    }
    return verify(() => textLines(file), progress, folder === undefined ? new ArchivedLog([]) : await archiveIn(folder));
  };
  const { head, lines, last, tally } = await run().finally(bars.stop);
  const { decisions, elsewhere, before, conversions, digests } = tally;
  print(`${counted(lines, "event")} of model ${head.model}, up to event ${last}: all verified`);
  print(`  ${counted(decisions, "decision")} with probabilities, ${counted(conversions, "conversion")}, ${counted(digests, "digest")}`);
  if (before > 0) print(`  ${counted(before, "impression")} decided before the model learnt its log again: only the learning is verified`);
  if (elsewhere > 0) print(`  ${counted(elsewhere, "impression")} decided elsewhere: only the learning is verified`);
}

export const run = prepared({
  name: "verify",
  usage,
  options,
  argument: "file EVENTS",
  explain: (error) =>
    error instanceof LogMismatch || error instanceof ArchiveError ? `Not verified: ${error.message}` : unreadable(error),
  run: main,
});
