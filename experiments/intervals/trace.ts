// What the rows of a figure rest on: the statements of a few worlds.
import { createHash } from "node:crypto";
import type { Stated, StatedFigure } from "./stated-figure.ts";

/** Figures of a number that count. Engines may compute the last ones of an exponential in different ways. */
const FIGURES = 9;

const shortened = (_: string, value: unknown): unknown => (typeof value === "number" ? value.toPrecision(FIGURES) : value);

/**
 * Names the statements of the first worlds of the traced settings. It changes if code that they run has come to state something else, and not
 * with comments, names or structure.
 */
export async function traceOf({ traced, run }: StatedFigure): Promise<string> {
  const all: (readonly Stated[])[] = [];
  for (const setting of traced) all.push(await run(setting, 0));
  return createHash("sha256").update(JSON.stringify(all, shortened)).digest("hex").slice(0, 8);
}
