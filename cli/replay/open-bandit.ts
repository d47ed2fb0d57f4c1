// Reads the Open Bandit Dataset (Saito et al., 2021), packed or not: one row per item shown on the page of a fashion shop.

import { createReadStream, existsSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { pipeline } from "node:stream";
import { createGunzip } from "node:zlib";
import type { EncoderOptions, NamedFeatures } from "afterclick";
import { CsvError, type Parser, parse } from "csv-parse";

const USER_FEATURE = "user_feature_";
/** Prefix of a column name. The item's id follows. */
const AFFINITY = "user-item_affinity_";
/** Name of the column with the rows' numbers. */
const NUMBER = "";
/** Most characters of a row. */
const LONGEST_ROW = 1_000_000;
/** Least probability of a logged choice, as of `LoggedDecision`. */
export const LEAST_SHARE = 1e-12;
const REQUIRED = ["item_id", "click", `${USER_FEATURE}0`, `${AFFINITY}0`];

/** One logged recommendation. */
export interface LoggedRow {
  readonly index: number;
  /** The shown item. */
  readonly item: string;
  readonly clicked: boolean;
  readonly context: NamedFeatures;
  /** In ms since 1970. Absent if the file has no time. */
  readonly shownAt?: number;
  /** Probability with which the item was shown. Absent if the file has none. */
  readonly probability?: number;
  /** Place of the item on its page, as the file has it. Absent if it has none. */
  readonly position?: string;
  /** Number of the row in the data set. Absent if the file has none. */
  readonly number?: string;
}

export interface Log {
  readonly rows: number;
  readonly clicks: number;
  /** Ids of all items. */
  readonly items: readonly string[];
  /** Names of the user features. */
  readonly userFeatures: readonly string[];
}

export interface ItemCatalogue {
  readonly actions: readonly { readonly id: string; readonly features: NamedFeatures }[];
  readonly encoder: EncoderOptions;
}

/** An unusable file. The message says why. */
export class LogError extends Error {
  override readonly name = "LogError";
}

type Columns = Record<string, string>;

function records(file: string, required: readonly string[]): Parser {
  const parser = parse({
    bom: true,
    max_record_size: LONGEST_ROW,
    columns(header: string[]) {
      const missing = required.find((name) => !header.includes(name));
      if (missing) throw new LogError(`${file}: expected an Open Bandit csv with a column ${missing}, got none`);
      return header;
    },
  });
  const unzip = file.endsWith(".gz") ? [createGunzip()] : [];
  // The iterator of the parser throws the error, so this callback ignores it.
  pipeline([createReadStream(file), ...unzip, parser], () => {});
  return parser;
}

async function* read<Row>(file: string, required: readonly string[], row: (columns: Columns, index: number) => Row): AsyncGenerator<Row> {
  let index = 0;
  try {
    for await (const columns of records(file, required)) yield row(columns, index++);
  } catch (error) {
    throw explain(file, error as NodeJS.ErrnoException);
  }
}

function explain(file: string, error: NodeJS.ErrnoException): Error {
  if (error.code === "ENOENT") return new LogError(`${file}: no such file; check the path`);
  if (error.code === "EISDIR") return new LogError(`${file}: expected a file, got a directory`);
  if (error.code === "EACCES") return new LogError(`${file}: permission denied; make the file readable`);
  if (error instanceof CsvError) return new LogError(`${file}: expected a csv: ${error.message}`);
  if (error.code?.startsWith("Z_")) return new LogError(`${file}: expected a complete gzip file: ${error.message}`);
  return error;
}

/** Reads the rows of a log in order. @throws {LogError} at the first malformed row. */
export function readLog(file: string): AsyncGenerator<LoggedRow> {
  return read(file, REQUIRED, (columns, index) => rowOf(file, columns, index));
}

function rowOf(file: string, columns: Columns, index: number): LoggedRow {
  const { item_id: item, click } = columns;
  if (!(`${AFFINITY}${item}` in columns))
    throw new LogError(`${file}, row ${index + 1}: expected an affinity column for item_id ${item}, got none`);
  if (click !== "0" && click !== "1") throw new LogError(`${file}, row ${index + 1}: expected click to be 0 or 1, got ${click}`);
  const { timestamp, propensity_score = "", position, [NUMBER]: number } = columns;
  // A time without a zone is UTC.
  const shownAt = Date.parse(/(z|[+-]\d\d:?\d\d)$/i.test(timestamp) ? timestamp : `${timestamp}Z`);
  const probability = propensity_score.trim() === "" ? undefined : Number(propensity_score);
  if (probability !== undefined && !(probability >= LEAST_SHARE && probability <= 1))
    throw new LogError(`${file}, row ${index + 1}: expected propensity_score from ${LEAST_SHARE} to 1, got ${propensity_score}`);
  return {
    index,
    item,
    clicked: click === "1",
    context: contextOf(columns),
    ...(!Number.isNaN(shownAt) && { shownAt }),
    ...(probability !== undefined && { probability }),
    ...(position !== undefined && { position }),
    ...(number !== undefined && { number }),
  };
}

/** The user's categories, and the items with a positive affinity. Nearly all of the 46 affinities are 0. */
function contextOf(columns: Columns): NamedFeatures {
  const context: Record<string, string | string[]> = { affinity: [] };
  for (const [name, value] of Object.entries(columns)) {
    if (name.startsWith(USER_FEATURE)) context[name] = value;
    else if (name.startsWith(AFFINITY) && Number(value) > 0) (context.affinity as string[]).push(name.slice(AFFINITY.length));
  }
  return context;
}

/** Reads a whole log, so that a malformed row is found before anything is sent. */
export async function inspectLog(file: string): Promise<Log> {
  let columns: string[] = [];
  let rows = 0;
  let clicks = 0;
  for await (const row of read(file, REQUIRED, (record, index) => {
    if (index === 0) columns = Object.keys(record);
    return rowOf(file, record, index);
  })) {
    rows++;
    if (row.clicked) clicks++;
  }
  if (rows === 0) throw new LogError(`${file}: expected at least one row, got none`);
  const items = columns.filter((name) => name.startsWith(AFFINITY)).map((name) => name.slice(AFFINITY.length));
  return { rows, clicks, items, userFeatures: columns.filter((name) => name.startsWith(USER_FEATURE)) };
}

/** The file of item features, if it exists: `women-items.csv` beside `women-random.csv.gz`. */
export function itemFileOf(file: string): string | undefined {
  const stem = basename(file).replace(/\.csv(\.gz)?$/, "");
  const items = join(dirname(file), `${stem.slice(0, stem.lastIndexOf("-"))}-items.csv`);
  return stem.includes("-") && existsSync(items) ? items : undefined;
}

/** The items as actions with features, and an encoder for them and the user's features. */
export async function readCatalogue(log: Log, itemFile: string | undefined): Promise<ItemCatalogue> {
  const features = new Map<string, Record<string, string | number>>(log.items.map((item) => [item, {}]));
  const prices: number[] = [];
  for await (const columns of itemFile ? read(itemFile, ["item_id", "item_feature_0"], (columns) => columns) : []) {
    const own = features.get(columns.item_id);
    if (!own) continue;
    for (const [name, value] of Object.entries(columns)) if (name.startsWith("item_feature_")) own[name] = value;
    // The first feature is a number. All others are categories.
    own.item_feature_0 = Number(columns.item_feature_0);
    if (!Number.isFinite(own.item_feature_0)) {
      throw new LogError(`${itemFile}: expected item_feature_0 to be a number, got ${columns.item_feature_0}`);
    }
    prices.push(own.item_feature_0);
  }
  return {
    actions: Array.from(features, ([id, own]) => ({ id, features: own })),
    encoder: {
      dimension: 128,
      ...(prices.length > 0 && { numeric: { item_feature_0: { min: Math.min(...prices), max: Math.max(...prices) } } }),
      interactions: [...log.userFeatures, "affinity"].map((name) => [name, "id"] as const),
    },
  };
}
