// Classification as a bandit: the arm of a row's class converts, and no other. Data sets of UCI as the repository publishes them.
import type { NamedFeatures } from "afterclick";
import { LogError } from "../../cli/replay/open-bandit.ts";
import { fixed } from "../../src/simulation/delay-law.ts";
import { shuffled, stream } from "../../src/simulation/stream.ts";
import { HOUR_MS, MINUTE_MS, type Shop, type Timing } from "../shop/shop.ts";
import { delaysOf } from "../shop/timing.ts";
import { numberOf, readTable, type TableFormat } from "./table-file.ts";

/** A data set: its file, and the names of the columns whose values are no numbers. */
export interface DataSet extends TableFormat {
  readonly file: string;
  /** The class is the last field. */
  readonly fields: number;
  /** Places of fields that are names, not numbers. */
  readonly named: readonly number[];
}

export const dataSets: Readonly<Record<string, DataSet>> = {
  shuttle: { file: "uci/shuttle.trn", delimiter: " ", fields: 10, named: [] },
  magic: { file: "uci/magic04.data", delimiter: ",", fields: 11, named: [] },
  adult: { file: "uci/adult.data", delimiter: ",", fields: 15, named: [1, 3, 5, 6, 7, 8, 9, 13] },
};

export interface Labelled {
  readonly cells: readonly (number | string)[];
  readonly label: string;
}

/** @throws {LogError} naming the file, the line, and what was expected. */
export async function readClasses(path: string, set: DataSet): Promise<Labelled[]> {
  const rows = await readTable(path, set);
  const read = rows.map((cells) => ({
    cells: cells.slice(0, -1).map((cell, i) => (set.named.includes(i) ? cell : numberOf(cell, `field ${i + 1}`, path))),
    label: cells[cells.length - 1],
  }));
  if (new Set(read.map(({ label }) => label)).size < 2) throw new LogError(`${path}: expected at least two classes`);
  return read;
}

/** A name that stands for an unknown value in these files. */
const UNKNOWN = "?";

/**
 * Features as in the code of Zhang, Zhou, Li and Gu (Neural Thompson sampling, 2021): the numbers of a row, names by their number in alphabetical
 * order, -1 for an unknown value, divided by their norm, in a block of its own for each arm.
 */
function published(rows: readonly Labelled[], arms: number): (row: Labelled) => Float64Array {
  const codes = rows[0].cells.map((_, i) => {
    const names = new Set(rows.map(({ cells }) => cells[i]).filter((cell) => typeof cell === "string" && cell !== UNKNOWN));
    return new Map([...names].sort().map((name, code) => [name, code]));
  });
  return ({ cells }) => {
    const values = cells.map((cell, i) => (typeof cell === "number" ? cell : (codes[i].get(cell) ?? -1)));
    const norm = Math.sqrt(values.reduce((sum, each) => sum + each * each, 0)) || 1;
    const points = new Float64Array(arms * arms * values.length);
    for (let arm = 0; arm < arms; arm++) {
      points.set(
        values.map((each) => each / norm),
        arm * (arms + 1) * values.length,
      );
    }
    return points;
  };
}

const contextOf = ({ cells }: Labelled): NamedFeatures =>
  Object.fromEntries(cells.flatMap((cell, i) => (cell === UNKNOWN ? [] : [[`x${i}`, cell]])));

function rangesOf(rows: readonly Labelled[]): NonNullable<Shop["numeric"]> {
  const places = Array.from(rows[0].cells.keys()).filter((i) => typeof rows[0].cells[i] === "number");
  return Object.fromEntries(
    places.map((i) => {
      const values = rows.map(({ cells }) => cells[i] as number);
      return [`x${i}`, { min: values.reduce((a, b) => Math.min(a, b)), max: values.reduce((a, b) => Math.max(a, b)) }];
    }),
  );
}

interface Spec {
  readonly horizon: number;
  /** Rounds after which each reward comes. */
  readonly delay: number;
  /** Whether features are those of the published figures. Otherwise a plain PUT names them, with the ranges of the file. */
  readonly isPublished: boolean;
}

/** The rows in random order as visitors, and the classes as products. @throws {LogError} if there are too few rows. */
export function classShop(rows: readonly Labelled[], { horizon, delay, isPublished }: Spec, names: readonly (string | number)[]): Shop {
  if (rows.length < horizon) throw new LogError(`expected at least ${horizon} rows, got ${rows.length}`);
  const order = shuffled(rows, stream(...names, "order"));
  const labels = [...new Set(rows.map(({ label }) => label))].sort();
  const stepMs = HOUR_MS;
  const timing: Timing = { laws: [fixed((delay * stepMs) / MINUTE_MS)], windowMs: (delay + 1) * stepMs };
  const pointsOf = isPublished ? published(rows, labels.length) : undefined;
  const random = stream(...names, "delay");
  return {
    horizon,
    stepMs,
    ...timing,
    products: labels.map((id) => ({ id })),
    ...(isPublished ? { dimension: labels.length * rows[0].cells.length } : { numeric: rangesOf(rows) }),
    visit(round) {
      const row = order[round - 1];
      return {
        ...(pointsOf ? { points: pointsOf(row) } : { context: contextOf(row) }),
        rates: labels.map((label) => Number(label === row.label)),
        luck: 0,
        delaysMs: delaysOf(timing, random),
      };
    },
  };
}
