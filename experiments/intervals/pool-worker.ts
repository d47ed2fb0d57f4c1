import type { Stated } from "./stated-figure.ts";
import { figures } from "./table.ts";

/** Simulates some worlds of one figure in a thread of the pool. */
export default async function run({
  figure,
  setting,
  runs,
}: {
  figure: string;
  setting: string;
  runs: readonly number[];
}): Promise<Stated[]> {
  const found = figures.find(({ id }) => id === figure);
  if (!found) throw new Error(`no figure ${figure}`);
  const all: Stated[] = [];
  for (const each of runs) all.push(...(await found.run(setting, each)));
  return all;
}
