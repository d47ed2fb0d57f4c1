import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { run } from "../../../../cli/import.ts";
import { AnsweringServer } from "../../../support/answering-server.ts";
import { ran } from "../../../support/ran.ts";

// What `import` reads, says and sends.

const server = new AnsweringServer();
const own = process.cwd();
let folder: string;
let configured: object;
let catalogue: readonly string[];
let sent: unknown;
beforeAll(() => server.listen());
afterAll(() => server.close());
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "afterclick-import-"));
  process.chdir(folder);
  vi.stubEnv("AFTERCLICK_SECRET_KEY", "sk_import");
  vi.useFakeTimers({ toFake: ["Date"], now: Date.UTC(2026, 10, 29) });
  [configured, catalogue, sent] = [{}, ["mug", "hat"], undefined];
  server.asked = [];
  server.answer = async (request, response) => {
    if (request.url?.endsWith("/actions"))
      return void response.end(JSON.stringify({ actions: catalogue.map((id) => ({ id })), version: 2 }));
    let text = "";
    for await (const part of request) text += part;
    if (request.method === "PATCH") sent = JSON.parse(text);
    response.end(JSON.stringify(configured));
  };
});
afterEach(async () => {
  process.chdir(own);
  vi.unstubAllEnvs();
  vi.useRealTimers();
  await rm(folder, { recursive: true });
});

async function imported(text: string, ...args: string[]) {
  await writeFile("orders.csv", text);
  return ran(run, "orders.csv", "--url", server.url.href, "--model", "shop", ...args);
}

const ORDERS = `Created at,Lineitem sku,Lineitem quantity,Total,Currency
2026-11-01,mug,2,24.00,EUR
2026-11-03 12:00:00 +0100,hat,1,9.50,EUR
2026-11-28T09:30:00Z,mug,1,12,EUR
2026-11-28,sock,1,3,EUR
`;
const PRIOR = { sales: [{ action: "mug", sales: 3 }, { action: "hat", sales: 1 }], from: Date.UTC(2026, 10, 1), until: Date.UTC(2026, 10, 28, 9, 30) }; // biome-ignore format: one line

it("says what it has read in plain words, and sends it", async () => {
  const { code, stdout } = await imported(ORDERS, "--yes");
  expect(stdout).toBe(`4 orders with 5 sales of 3 products from 1 November 2026 to 28 November 2026;
1 product is not in the catalogue and is left out: sock;
the best seller is mug with 3 sales.
Sent. Model shop decides by the sales of 2 products. They weigh less as its own conversions come in.
`);
  expect([code, sent]).toEqual([0, { prior: PRIOR }]);
  expect(server.asked).toEqual(["GET /v1/models/shop", "GET /v1/models/shop/actions", "PATCH /v1/models/shop"]);
});

it("only says it with --preview, and without a terminal to ask on", async () => {
  expect((await imported(ORDERS, "--preview")).stdout).toMatch(/Nothing was sent\.\n$/);
  expect((await imported(ORDERS)).stdout).toMatch(/Nothing was sent: add --yes to send it\.\n$/);
  expect(sent).toBeUndefined();
});

it("takes bestsellers with shares of views, a byte order mark, semicolons, and named columns", async () => {
  const { stdout } = await imported(
    "\uFEFFArtikel;Verkauft;share\nhat;3;0.25\nmug;61;0.75\n",
    "--yes",
    "--product",
    "Artikel",
    "--sales",
    "Verkauft",
  );
  expect(stdout).toMatch(/^2 rows with 64 sales of 2 products;\nthe best seller is mug with 61 sales and 0.75 views\./);
  expect(sent).toEqual({ prior: { sales: [{ action: "mug", sales: 61, views: 0.75 }, { action: "hat", sales: 3, views: 0.25 }] } }); // biome-ignore format: one line
});

it("counts only the last days of a file", async () => {
  await imported(ORDERS, "--yes", "--days", "7");
  expect(sent).toEqual({ prior: { sales: [{ action: "mug", sales: 1 }], from: Date.UTC(2026, 10, 28), until: PRIOR.until } });
});

it("says that it replaces an earlier prior", async () => {
  configured = { prior: { sales: [{ action: "mug", sales: 4 }] } };
  expect((await imported(ORDERS, "--yes")).stdout).toContain("this replaces the prior of 1 product");
});

it("says that ids are not checked without a catalogue, and sends nothing if none is known", async () => {
  catalogue = [];
  expect((await imported(ORDERS, "--yes")).stdout).toContain("the model has no catalogue yet, so no id can be checked");
  [catalogue, sent] = [["tent"], undefined];
  const { code, stdout } = await imported(ORDERS, "--yes");
  expect([code, sent]).toEqual([1, undefined]);
  expect(stdout).toMatch(/Nothing was sent: no product of the file is in the catalogue\./);
});

it.each([
  [
    "a negative count",
    "date,product,quantity\n2026-11-01,mug,1\n2026-11-02,mug,-1\n",
    "orders.csv, line 3: quantity: expected at least 0, got -1; leave refunds out",
  ],
  ["a date in the future", "date,product\n2026-12-24,mug\n", "orders.csv, line 2: date: expected a date that has passed, got 2026-12-24"],
  ["an ambiguous date", "date,product\n01/11/2026,mug\n", "orders.csv, line 2: date: expected a date such as 2026-11-28, got 01/11/2026"],
  [
    "a decimal comma",
    "date;product;price\n2026-11-01;mug;12,50\n",
    "orders.csv, line 2: price: expected a decimal point, got 12,50 with a decimal comma",
  ],
  [
    "two currencies",
    "date,product,currency\n2026-11-01,mug,EUR\n2026-11-02,mug,USD\n",
    "orders.csv, line 3: currency: expected one currency, got EUR in line 2 and USD here; make a file for each",
  ],
  ["no product", "date,product\n2026-11-01,\n", "orders.csv, line 2: product: expected the id of a product, got nothing"],
  ["no number", "product,sales\nmug,many\n", "orders.csv, line 2: sales: expected a number such as 12.5, got many"],
  [
    "no column of products",
    "date,colour\n2026-11-01,red\n",
    "orders.csv: expected a column of products, got date, colour; name it with --product",
  ],
  [
    "no column of sales",
    "product,colour\nmug,red\n",
    "orders.csv: expected a column of dates or of sales, got product, colour; name it with --date or --sales",
  ],
  ["no row", "product,sales\n", "orders.csv: expected at least one row below the names of columns, got none"],
  ["a row of another length", "product,sales\nmug,1,5\n", /^orders\.csv: expected a CSV: .*line 2; a decimal comma needs quotation marks/],
])("refuses %s by its line, and asks nothing of the worker", async (_, text, message) => {
  const { code, stderr } = await imported(text, "--yes");
  expect(code).toBe(1);
  if (typeof message === "string") expect(stderr).toBe(`${message}\n`);
  else expect(stderr).toMatch(message);
  expect(server.asked).toEqual([]);
});

it.each([
  [["--preview"], /^expected one of --preview and --yes, got both/],
  [["--days", "0"], /^--days: expected a whole number from 1/],
  [["--product", "nobody"], /^orders\.csv: --product: expected one of /],
])("refuses %j", async (args, message) => {
  const { code, stderr } = await imported(ORDERS, "--yes", ...args);
  expect(code).toBe(1);
  expect(stderr).toMatch(message);
});

it("names a file that is not there", async () => {
  const { code, stderr } = await ran(run, "no.csv", "--url", server.url.href, "--model", "shop");
  expect([code, stderr]).toEqual([1, expect.stringMatching(/^Cannot read the file: ENOENT/)]);
});
