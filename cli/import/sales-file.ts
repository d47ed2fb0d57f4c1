// Reads a CSV of past orders or of bestsellers, and adds up what each product has sold. The first row that cannot be read stops it.

import { createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import { CsvError, parse } from "csv-parse";

/** A file that cannot be imported. The message says why, with the line. */
export class FileError extends Error {
  override readonly name = "FileError";
}

/** What each column is called by shops. The first name is that of the option. */
const NAMES = {
  product: ["product", "product_id", "sku", "lineitem_sku", "item", "item_id", "action", "id", "variant_id"],
  sales: ["sales", "quantity", "qty", "units", "lineitem_quantity", "sold", "orders", "conversions", "count"],
  date: ["date", "day", "time", "timestamp", "created_at", "created", "order_date", "paid_at"],
  views: ["views", "impressions", "share", "placement_share"],
  amount: ["amount", "price", "total", "revenue", "lineitem_price"],
  currency: ["currency"],
} as const;

export type Column = keyof typeof NAMES;
export const COLUMNS = Object.keys(NAMES) as Column[];

/** Sales and views of one product in a file. */
export interface Sold {
  sales: number;
  /** Absent if no column has them. */
  views?: number;
}

export interface Sales {
  readonly products: ReadonlyMap<string, Sold>;
  /** Rows that count. */
  readonly rows: number;
  /** First and last date, in ms since 1970. Absent if there is no column of dates. */
  readonly from?: number;
  readonly until?: number;
}

interface Reading {
  /** Names of columns that are not recognised. */
  readonly columns: Partial<Record<Column, string>>;
  readonly now: number;
  /** Only rows of so many days before the last one count. */
  readonly days?: number;
  progress(bytes: number): void;
}

interface Row {
  readonly product: string;
  readonly sales: number;
  readonly views: number | undefined;
  readonly at: number | undefined;
}

const DAY_MS = 86_400_000;
const LONGEST_ROW = 1_000_000;

/** Reads a file. @throws {FileError} naming the line. */
export async function readSales(file: string, reading: Reading): Promise<Sales> {
  try {
    const rows: Row[] = [];
    for await (const row of rowsOf(file, reading)) rows.push(row);
    if (rows.length === 0) throw new FileError(`${file}: expected at least one row below the names of columns, got none`);
    return addedUp(rows, reading.days);
  } catch (error) {
    throw explained(file, error as NodeJS.ErrnoException);
  }
}

function addedUp(rows: readonly Row[], days: number | undefined): Sales {
  const times = rows.flatMap(({ at }) => at ?? []);
  const until = times.reduce((last, at) => Math.max(last, at), 0);
  const counted = days === undefined ? rows : rows.filter(({ at = until }) => at > until - days * DAY_MS);
  const from = counted.reduce((first, { at = until }) => Math.min(first, at), until);
  const products = new Map<string, Sold>();
  for (const { product, sales, views } of counted) {
    const known = products.get(product) ?? { sales: 0 };
    known.sales += sales;
    if (views !== undefined) known.views = (known.views ?? 0) + views;
    products.set(product, known);
  }
  return { products, rows: counted.length, ...(times.length > 0 && { from, until }) };
}

async function* rowsOf(file: string, { columns, now, progress }: Reading): AsyncGenerator<Row> {
  const delimiter = await delimiterOf(file);
  let named: Partial<Record<Column, string>> = {};
  let currency: { readonly name: string; readonly line: number } | undefined;
  const parser = parse({
    bom: true,
    delimiter,
    info: true,
    max_record_size: LONGEST_ROW,
    skip_empty_lines: true,
    columns(header: string[]) {
      named = columnsOf(file, header, columns);
      return header;
    },
  });
  const stream = createReadStream(file).on("error", (error) => parser.destroy(error));
  stream.on("data", () => progress(stream.bytesRead));
  for await (const { record, info } of stream.pipe(parser)) {
    const line: number = info.lines;
    const at = (name: Column, message: string) => new FileError(`${file}, line ${line}: ${named[name] ?? name}: ${message}`);
    const text = (name: Column): string => (named[name] === undefined ? "" : record[named[name]].trim());
    const product = text("product");
    if (product === "") throw at("product", "expected the id of a product, got nothing");
    text("amount") !== "" && number(text("amount"), (message) => at("amount", message), Number.NEGATIVE_INFINITY);
    const own = text("currency");
    if (own !== "" && currency && own !== currency.name) {
      throw at("currency", `expected one currency, got ${currency.name} in line ${currency.line} and ${own} here; make a file for each`);
    }
    if (own !== "") currency ??= { name: own, line };
    yield {
      product,
      sales: text("sales") === "" ? 1 : number(text("sales"), (message) => at("sales", message)),
      views: text("views") === "" ? undefined : number(text("views"), (message) => at("views", message)),
      at: named.date === undefined ? undefined : time(text("date"), now, (message) => at("date", message)),
    };
  }
}

/** The delimiter that the names of columns have between them. */
async function delimiterOf(file: string): Promise<string> {
  const opened = await open(file);
  const { buffer, bytesRead } = await opened.read(Buffer.alloc(65_536), 0, 65_536, 0).finally(() => opened.close());
  const [first] = buffer.toString("utf8", 0, bytesRead).split("\n", 1);
  return [",", ";", "\t"].toSorted((a, b) => first.split(b).length - first.split(a).length)[0];
}

/** The names of the columns that are read. @throws {FileError} */
function columnsOf(file: string, header: readonly string[], given: Partial<Record<Column, string>>): Partial<Record<Column, string>> {
  const plain = (name: string): string =>
    name
      .trim()
      .toLowerCase()
      .replaceAll(/[\s-]+/g, "_");
  const named: Partial<Record<Column, string>> = {};
  for (const column of COLUMNS) {
    const own = given[column];
    if (own !== undefined && !header.includes(own))
      throw new FileError(`${file}: --${column}: expected one of ${header.join(", ")}, got ${own}`);
    const known = NAMES[column].flatMap((name) => header.find((each) => plain(each) === name) ?? []);
    const found = own ?? known.find((name) => !Object.values(named).includes(name));
    if (found !== undefined) named[column] = found;
  }
  if (named.product === undefined)
    throw new FileError(`${file}: expected a column of products, got ${header.join(", ")}; name it with --product`);
  if (named.sales === undefined && named.date === undefined) {
    throw new FileError(`${file}: expected a column of dates or of sales, got ${header.join(", ")}; name it with --date or --sales`);
  }
  return named;
}

function number(text: string, wrong: (message: string) => Error, least = 0): number {
  if (/^[+-]?\d{1,3}(\.\d{3})*,\d+$|^[+-]?\d+,\d+$/.test(text)) throw wrong(`expected a decimal point, got ${text} with a decimal comma`);
  const value = /^[+-]?(\d+\.?\d*|\.\d+)$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isNaN(value)) throw wrong(`expected a number such as 12.5, got ${text}`);
  if (value < least) throw wrong(`expected at least 0, got ${text}; leave refunds out`);
  return value;
}

/** A date, or a time with or without a zone. Without one it is UTC. Clocks differ by a day at most. */
function time(text: string, now: number, wrong: (message: string) => Error): number {
  const [, day, clock = "00:00", zone = "Z"] =
    /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?) ?(Z|UTC|[+-]\d\d:?\d\d)?)?$/i.exec(text) ?? [];
  const offset = /^[+-]/.test(zone) ? zone.replace(/(\d\d):?(\d\d)$/, "$1:$2") : "Z";
  const at = day === undefined ? Number.NaN : Date.parse(`${day}T${clock}${offset}`);
  if (Number.isNaN(at)) throw wrong(`expected a date such as 2026-11-28, got ${text || "nothing"}`);
  if (at > now + DAY_MS) throw wrong(`expected a date that has passed, got ${text}`);
  return at;
}

function explained(file: string, error: NodeJS.ErrnoException): Error {
  if (error instanceof CsvError) {
    const hint =
      error.code === "CSV_RECORD_INCONSISTENT_COLUMNS" ? "; a decimal comma needs quotation marks, or better a decimal point" : "";
    return new FileError(`${file}: expected a CSV: ${error.message}${hint}`);
  }
  if (["ENOENT", "EISDIR", "EACCES"].includes(error.code ?? "")) return new FileError(`Cannot read the file: ${error.message}`);
  return error;
}
