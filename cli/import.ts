// npm run import, npx afterclick import: tells a model what its shop has sold, from a CSV of past orders or of bestsellers.

import { stat } from "node:fs/promises";
import { prepared, UsageError, type Values, wholeNumber, workerUrl } from "./command/command.ts";
import { counted } from "./command/counted.ts";
import { countingBar } from "./command/progress.ts";
import { confirmed, print } from "./command/terminal.ts";
import { type Prior, previewOf } from "./import/preview.ts";
import { COLUMNS, FileError, readSales } from "./import/sales-file.ts";
import { ApiError, call, UnreachableError } from "./worker/api.ts";
import { callersKeys } from "./worker/callers-keys.ts";

const usage = (
  called: string,
): string => `Tells a model what its shop has sold, so that it does not begin knowing nothing. Says what it has read, and asks before it sends it.

Usage: ${called} FILE.csv --model NAME [--url URL] [--days N] [--preview | --yes]

  FILE.csv         past orders with a date, a product and perhaps a quantity in each row, or bestsellers with a product and its sales
  --model NAME     name of the model
  --url URL        URL of the worker, default http://localhost:8787
  --days N         only orders of the last N days of the file, default all
  --preview        say what would be sent, and send nothing
  --yes            send without asking
  --product NAME   column of products, if it is not recognised. Its ids are those of the catalogue
  --date NAME      column of dates such as 2026-11-28
  --sales NAME     column of quantities or sales, default 1 for each order
  --views NAME     column of views, or of shares of the views
  --amount NAME    column of amounts, which are only checked
  --currency NAME  column of currencies, which must be one

Example: ${called} orders.csv --url http://localhost:8787 --model shop --days 28 --preview

Reads AFTERCLICK_SECRET_KEY from the environment or from .dev.vars in this folder.`;

const text = { type: "string" } as const;
const options = {
  url: { type: "string", default: "http://localhost:8787" },
  model: text,
  days: text,
  preview: { type: "boolean", default: false },
  yes: { type: "boolean", default: false },
  product: text,
  date: text,
  sales: text,
  views: text,
  amount: text,
  currency: text,
} as const;

async function main({ url, model, days, preview, yes, ...named }: Values<typeof options>, file: string): Promise<boolean> {
  const base = workerUrl(url);
  if (!model) throw new UsageError("--model: expected the name of a model, got none");
  if (preview && yes) throw new UsageError("expected one of --preview and --yes, got both");
  const key = (await callersKeys()).get("AFTERCLICK_SECRET_KEY");
  const path = `/v1/models/${encodeURIComponent(model)}`;
  const columns = Object.fromEntries(COLUMNS.flatMap((column) => (named[column] === undefined ? [] : [[column, named[column]]])));
  const sales = await read(file, columns, days === undefined ? undefined : wholeNumber("--days", days, 1, 36_500));
  const { body: configured } = await call<{ readonly prior?: Prior }>(base, path, { key });
  const { body: catalogue } = await call<{ readonly actions: readonly { readonly id: string }[] }>(base, `${path}/actions`, { key });
  const { prior, lines } = previewOf(sales, new Set(catalogue.actions.map(({ id }) => id)), configured.prior);
  print(`${lines.join(";\n")}.`);
  if (prior.sales.length === 0) {
    print("Nothing was sent: no product of the file is in the catalogue. Are these the ids of the catalogue?");
    return false;
  }
  const agreed = !preview && (yes || (await confirmed(`Tell model ${model}?`)));
  if (!agreed) {
    print(agreed === undefined ? "Nothing was sent: add --yes to send it." : "Nothing was sent.");
    return true;
  }
  await call(base, path, { method: "PATCH", key, json: { prior } });
  print(
    `Sent. Model ${model} decides by the sales of ${counted(prior.sales.length, "product")}. They weigh less as its own conversions come in.`,
  );
  return true;
}

async function read(file: string, columns: Parameters<typeof readSales>[1]["columns"], days: number | undefined) {
  const bar = countingBar("bytes");
  const size = await stat(file).then(
    ({ size }) => size,
    () => 0,
  );
  try {
    return await readSales(file, { columns, days, now: Date.now(), progress: (bytes) => bar.update(bytes, size) });
  } finally {
    bar.stop();
  }
}

export const run = prepared({
  name: "import",
  usage,
  options,
  argument: "FILE.csv",
  known: [ApiError, FileError, UnreachableError],
  run: main,
});
