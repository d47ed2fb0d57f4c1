// npm run intervals: how often the stated 95 % intervals hold the truth, in simulated worlds.
import { readFile, writeFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { Tinypool } from "tinypool";
import { command, UsageError, type Values, wholeNumber } from "../cli/command/command.ts";
import { withTables } from "../cli/command/markdown.ts";
import { progressBar } from "../cli/command/progress.ts";
import { agreementOf, type Coverage, coverageOf, coverageTable } from "./intervals/coverage.ts";
import type { Stated, StatedFigure } from "./intervals/stated-figure.ts";
import { figures } from "./intervals/table.ts";
import { traceOf } from "./intervals/trace.ts";
import { holm } from "./runs/significance.ts";
import { presentCommit } from "./runs/stored-results.ts";

const RESULTS = "experiments/intervals.json";
const DOCUMENT = "docs/intervals.md";
/** Worlds that a thread simulates before it reports. */
const TOGETHER = 10;
/** Share of the worlds that affirms a row. */
const AFFIRMING = 0.1;

const readRows = async (): Promise<Coverage[]> => JSON.parse(await readFile(RESULTS, "utf8"));

const USAGE = `Simulates worlds whose truth is known, and counts how often each stated 95 % interval holds it.

Usage: npm run intervals -- [--figure ID] [--only TEXT]... [--runs N] [--write | --affirm]

  --figure ID  one figure only: ${figures.map(({ id }) => id).join(", ")}
  --only TEXT  only worlds whose name has this text; may be repeated
  --runs N     simulated worlds for each setting (default: the figure's own number)
  --write      keep the results in ${RESULTS}, and the tables in ${DOCUMENT}
  --affirm     simulate only worlds whose rows are stale, by default a tenth of them, and affirm the rows that agree with it

Example: npm run intervals -- --figure ${figures[0]?.id} --only "half slow" --runs 100`;

const options = {
  figure: { type: "string" },
  only: { type: "string", multiple: true },
  runs: { type: "string" },
  write: { type: "boolean", default: false },
  affirm: { type: "boolean", default: false },
} as const;

async function main(values: Values<typeof options>): Promise<void> {
  const named = figures.filter(({ id }) => values.figure === undefined || values.figure === id);
  if (named.length === 0) throw new UsageError(`--figure: expected one of ${figures.map(({ id }) => id).join(", ")}, got ${values.figure}`);
  const wanted = (setting: string): boolean => values.only === undefined || values.only.some((text) => setting.includes(text));
  const chosen = named
    .map((figure) => ({ ...figure, settings: figure.settings.filter(wanted) }))
    .filter(({ settings }) => settings.length > 0);
  if (chosen.length === 0) throw new UsageError(`--only: expected a part of the name of a world, got ${values.only?.join(", ")}`);
  const runs = values.runs === undefined ? undefined : wholeNumber("--runs", values.runs, 1);
  const pool = new Tinypool({ filename: new URL("./intervals/pool-worker.ts", import.meta.url).href, maxThreads: availableParallelism() });
  const commit = presentCommit();
  for (const figure of chosen) {
    const trace = values.write || values.affirm ? await traceOf(figure) : undefined;
    const stale = (await readRows()).filter((row) => row.figure === figure.id && row.trace !== trace);
    const settings = values.affirm ? figure.settings.filter((setting) => stale.some((row) => row.setting === setting)) : figure.settings;
    if (settings.length === 0) continue;
    const rows = await simulated(pool, { ...figure, settings }, runs ?? Math.ceil(figure.runs * (values.affirm ? AFFIRMING : 1)));
    console.log(`\n${figure.title}\n\n${coverageTable(rows)}`);
    if (values.write)
      await keep(
        figure,
        rows.map((row) => ({ ...row, commit, trace })),
      );
    if (values.affirm) await affirm(figure, stale, rows, { affirmed: commit, trace });
  }
  await pool.destroy();
}

async function simulated(pool: Tinypool, { id, settings }: StatedFigure, runs: number): Promise<Coverage[]> {
  const bar = progressBar(`${id} {bar} {value}/{total} worlds, {eta_formatted} left`);
  bar.start(settings.length * runs, 0);
  const batches = Array.from({ length: Math.ceil(runs / TOGETHER) }, (_, i) =>
    Array.from({ length: Math.min(TOGETHER, runs - i * TOGETHER) }, (_, j) => i * TOGETHER + j),
  );
  const rows = await Promise.all(
    settings.map(async (setting) => {
      const parts = batches.map(async (batch): Promise<Stated[]> => {
        const all = await pool.run({ figure: id, setting, runs: batch });
        bar.increment(batch.length);
        return all;
      });
      return coverageOf(id, setting, runs, (await Promise.all(parts)).flat());
    }),
  );
  bar.stop();
  return rows.flat();
}

/** Affirms the stale rows that fresh worlds agree with. The exit code is 1 if some do not. */
async function affirm(
  figure: StatedFigure,
  stale: readonly Coverage[],
  fresh: readonly Coverage[],
  dated: Partial<Coverage>,
): Promise<void> {
  const pairs = stale.flatMap((row) => {
    const own = fresh.find(({ setting, metric }) => setting === row.setting && metric === row.metric);
    return own ? [{ row, own }] : [];
  });
  const isFar = holm(pairs.map(({ row, own }) => agreementOf(row, own)));
  const far = new Set(pairs.flatMap(({ row }, i) => (isFar[i] ? [row.setting] : [])));
  const near = new Set(pairs.flatMap(({ row }) => (far.has(row.setting) ? [] : [row.setting])));
  for (const setting of far) console.log(`contradicted: ${figure.id}, ${setting}`);
  if (far.size > 0) process.exitCode = 1;
  await keep(
    figure,
    stale.flatMap((row) => (near.has(row.setting) ? [{ ...row, ...dated }] : [])),
  );
}

/** Replaces the rows of some worlds in the results, and the figure's table in the document. */
async function keep({ id }: StatedFigure, rows: readonly Coverage[]): Promise<void> {
  const before = await readRows();
  const isPlayed = ({ figure, setting }: Coverage): boolean => rows.some((row) => row.figure === figure && row.setting === setting);
  const known = [...rows, ...before.filter((row) => !isPlayed(row))];
  const all = figures.flatMap((figure) =>
    figure.settings.flatMap((setting) => known.filter((row) => row.figure === figure.id && row.setting === setting)),
  );
  await writeFile(RESULTS, `[\n${all.map((each) => JSON.stringify(each)).join(",\n")}\n]\n`);
  const own = all.filter(({ figure }) => figure === id);
  await writeFile(DOCUMENT, withTables(await readFile(DOCUMENT, "utf8"), { [`intervals-${id}`]: coverageTable(own) }));
}

await command({ usage: USAGE, options, run: main });
