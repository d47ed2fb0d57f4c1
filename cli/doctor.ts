// npm run doctor, npx afterclick doctor: checks a running worker from its address to what it learns.
import { randomBytes } from "node:crypto";
import { prepared, UsageError, type Values, workerUrl } from "./command/command.ts";
import { print } from "./command/terminal.ts";
import { examine } from "./doctor/examination.ts";
import { callersKeys } from "./worker/callers-keys.ts";

const usage = (
  called: string,
): string => `Checks a running worker: address, keys, clocks, a recommendation, a signed conversion that is learnt, KV and origins. Works in a model of
its own, which it deletes. Prints a line per check: what is wrong, and what to do. Exit code 1: something is wrong.

Usage: ${called} --url URL [--origin ORIGIN ...]

  --url URL        URL of the worker
  --origin ORIGIN  also check that pages of this origin may call the worker, such as https://shop.example

Example: ${called} --url http://localhost:8787

Reads AFTERCLICK_SECRET_KEY, AFTERCLICK_WEBHOOK_SECRET and AFTERCLICK_PUBLISHABLE_KEY from the environment or from .dev.vars in this folder.`;

const options = { url: { type: "string" }, origin: { type: "string", multiple: true } } as const;

async function main({ url = "", origin: origins = [] }: Values<typeof options>): Promise<boolean> {
  const base = workerUrl(url);
  for (const origin of origins) {
    if (URL.parse(origin)?.origin !== origin)
      throw new UsageError(`--origin: expected an origin such as https://shop.example, got ${origin}`);
  }
  const model = `doctor-${randomBytes(6).toString("hex")}`;
  let healthy = true;
  for await (const { check, state, text } of examine({ base, keys: await callersKeys(), model, origins })) {
    print(`${state.padEnd(8)}${check.padEnd(16)}${text}`);
    healthy &&= state !== "wrong";
  }
  print(healthy ? "\nThe worker works." : "\nThe worker needs attention: see the lines that begin with wrong.");
  return healthy;
}

export const run = prepared({ name: "doctor", usage, options, run: main });
