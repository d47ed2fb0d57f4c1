// npm run export, npx afterclick export: writes the event log of a model to a file.

import { once } from "node:events";
import { createWriteStream, existsSync } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { finished } from "node:stream/promises";
import { prepared, UsageError, type Values, wholeNumber, workerUrl } from "./command/command.ts";
import { counted } from "./command/counted.ts";
import { countingBar } from "./command/progress.ts";
import { print } from "./command/terminal.ts";
import { LogMismatch } from "./log/event-line.ts";
import { linesOf } from "./log/event-log.ts";
import { linesOfBytes } from "./log/text-lines.ts";
import { ApiError, open, UnreachableError } from "./worker/api.ts";
import { callersKeys } from "./worker/callers-keys.ts";

const usage = (called: string): string => `Writes the event log of a model to a file, and checks every line's receipt on the way.

Usage: ${called} --url URL --model NAME [--out FILE] [--after N]

  --url URL     URL of the worker
  --model NAME  name of the model
  --out FILE    file to write, default NAME.jsonl. It replaces a file of this name only once the log is complete
  --after N     write only the events after row N of an earlier export, by default to NAME-after-N.jsonl. The file must not exist yet

Example: ${called} --url http://localhost:8787 --model shop --out events.jsonl

Reads AFTERCLICK_SECRET_KEY from the environment or from .dev.vars in this folder.`;

const options = {
  url: { type: "string" },
  model: { type: "string" },
  out: { type: "string" },
  after: { type: "string", default: "0" },
} as const;

async function main({ url = "", model, after, ...rest }: Values<typeof options>): Promise<void> {
  const base = workerUrl(url);
  if (!model) throw new UsageError("--model: expected the name of a model, got none");
  const row = wholeNumber("--after", after, 0);
  const out = rest.out ?? (row > 0 ? `${model}-after-${row}.jsonl` : `${model}.jsonl`);
  if (row > 0 && existsSync(out)) throw new UsageError(`--out: expected a new file, as --after leaves out earlier events; ${out} exists`);
  const key = (await callersKeys()).get("AFTERCLICK_SECRET_KEY");
  const body = await open(base, `/v1/models/${encodeURIComponent(model)}/events?after=${row}`, { key });
  const bar = countingBar("events");
  const partial = `${out}.part`;
  try {
    const lines = await written(body, partial, bar.update);
    await rename(partial, out);
    bar.stop();
    print(`${counted(lines, "event")} of model ${model} in ${out}`);
  } finally {
    bar.stop();
    await rm(partial, { force: true });
  }
}

/** Writes a log to a file. @returns the number of its events. @throws {LogMismatch} if the log is damaged or ends early. */
async function written(body: AsyncIterable<Uint8Array>, file: string, update: (done: number, all: number) => void): Promise<number> {
  const output = createWriteStream(file);
  /** Passes lines on after it has written them. */
  async function* copied(): AsyncGenerator<string> {
    for await (const line of linesOfBytes(body)) {
      if (!output.write(`${line}\n`)) await once(output, "drain");
      yield line;
    }
  }
  let [expected, events] = [0, 0];
  try {
    for await (const line of linesOf(copied(), { receipts: true })) {
      if (line.type === "model") expected = line.lines;
      else update(++events, expected);
    }
  } finally {
    output.end();
    await finished(output);
  }
  return events;
}

export const run = prepared({
  name: "export",
  usage,
  options,
  known: [ApiError, UnreachableError],
  explain: (error) => (error instanceof LogMismatch ? `Not exported: ${error.message}` : undefined),
  run: main,
});
