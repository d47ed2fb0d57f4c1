// The trace of a figure: a hash of its statements in a few worlds, on which its rows rest.
import { FIGURES, hash } from "../runs/trace.ts";
import type { Stated, StatedFigure } from "./stated-figure.ts";

const shortened = (_: string, value: unknown): unknown => (typeof value === "number" ? value.toPrecision(FIGURES) : value);

/**
 * Names the statements of the first worlds of the traced settings. It changes if code that they run has come to state something else, and not
 * with comments, names or structure.
 */
export async function traceOf({ traced, run }: StatedFigure): Promise<string> {
  const all: (readonly Stated[])[] = [];
  for (const setting of traced) all.push(await run(setting, 0));
  return hash(JSON.stringify(all, shortened));
}
