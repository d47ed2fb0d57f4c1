// The path of somebody who opens the demonstration for the first time. The steps use CSS selectors alone, so that any driver can take them.
import { setTimeout as sleep } from "node:timers/promises";

/** A page of a browser. A method that names an element waits for it. */
export interface NewcomersPage {
  open(url: string): Promise<void>;
  click(selector: string): Promise<void>;
  /** The text of the first element, as shown. */
  text(selector: string): Promise<string>;
  attribute(selector: string, name: string): Promise<string | null>;
  count(selector: string): Promise<number>;
}

/** Counts of the model, as a page shows them. */
export interface SeenCounts {
  readonly shown: number;
  readonly converted: number;
  /** Pending and expired together: a window may close between two looks. */
  readonly open: number;
}

/** The newcomer's observations. */
export interface Journey {
  /** Mean distance of the estimates from the truth, in points. */
  readonly errors: readonly [before: number, after: number];
  /** Belief of a recommender that waits about each product, after the simulation. */
  readonly waiting: readonly string[];
  /** The first recommendations for the visitor, and those after the simulation. */
  readonly shelves: readonly [before: string, after: string];
  /** The product's estimate before the late purchase, while it was not reported, and after. */
  readonly late: readonly [before: string, unreported: string, after: string];
  /** How the purchase and then its return moved the estimate. */
  readonly changes: readonly [bought: string, returned: string];
  readonly shop: SeenCounts;
  readonly dashboard: SeenCounts;
}

const WITHIN_MS = 150_000;
const FIRST_BUTTON = ".guide .primary";
/** The page reads the estimates every second. */
const STILL_MS = 2500;

async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + WITHIN_MS;
  while (!(await holds().catch(() => false))) {
    if (Date.now() > deadline) throw new Error(`${what}: did not happen within ${WITHIN_MS / 1000} s`);
    await sleep(100);
  }
}

/** Waits until the shelf and the estimates have stood still for a while. */
async function settled(page: NewcomersPage): Promise<void> {
  await until("the estimates stand still", async () => {
    const look = async () => (await shelfOf(page)) + (await page.text(".estimates tbody"));
    const before = await look();
    await sleep(STILL_MS);
    return (await look()) === before;
  });
}

async function numberAt(page: NewcomersPage, selector: string): Promise<number> {
  return Number.parseInt((await page.text(selector)).replaceAll(",", ""), 10);
}

/** Presses the first button, and watches until all purchases are reported. Returns the error then. */
async function sendVisitors(page: NewcomersPage): Promise<number> {
  // A driver may wait until the page rests.
  const pressed = page.click(FIRST_BUTTON);
  await until("visitors come", async () => (await page.text(FIRST_BUTTON)).includes("left"));
  await until("all purchases are reported", async () => (await page.text(".stage [role=status]")).startsWith("All purchases"));
  await pressed;
  return numberAt(page, ".error");
}

async function shelfOf(page: NewcomersPage): Promise<string> {
  const names = [1, 2, 3].map((place) => page.text(`.card:nth-child(${place}) h3`));
  return (await Promise.all(names)).join(", ");
}

/** Buys the last product of the shelf, watches its estimate until the purchase is reported, and returns it. */
async function buyAndReturn(page: NewcomersPage): Promise<Pick<Journey, "late" | "changes">> {
  const card = ".card:nth-child(3)";
  const name = await page.text(`${card} h3`);
  const rows = await page.count(".estimates tbody tr");
  const texts = await Promise.all(Array.from({ length: rows }, (_, i) => page.text(`.estimates tbody tr:nth-child(${i + 1}) th`)));
  const row = `.estimates tbody tr:nth-child(${texts.indexOf(name) + 1})`;
  const estimate = () => page.text(`${row} .number`);
  const before = await estimate();
  await page.click(`${card} button`);
  await until("the product is bought", async () => (await page.attribute(card, "data-status")) === "bought");
  const unreported = await estimate();
  await until("the purchase is reported", async () => (await page.attribute(card, "data-status")) === "converted");
  const change = () => page.text(`${row} .change`);
  await until("the estimate moves", async () => (await change()) !== "");
  const late = [before, unreported, await estimate()] as const;
  const bought = await change();
  await page.click(`${card} button`);
  await until("the estimate moves back", async () => (await change()).startsWith("−"));
  return { late, changes: [bought, await change()] };
}

async function countsAt(page: NewcomersPage, selectorOf: (name: string) => string): Promise<SeenCounts> {
  const [shown, converted, pending, expired] = await Promise.all(
    ["impressions", "converted", "pending", "expired"].map((name) => numberAt(page, selectorOf(name))),
  );
  return { shown, converted, open: pending + expired };
}

/** Opens the shop, sends visitors once, buys late, returns that, and opens the dashboard. */
export async function newcomer(page: NewcomersPage, url: string): Promise<Journey> {
  await page.open(url);
  await until("the shop is open", async () => (await page.count(".card")) === 3 && (await page.count(".error")) === 1);
  const first = await shelfOf(page);
  const errors = [await numberAt(page, ".error"), await sendVisitors(page)] as const;
  const rows = Array.from({ length: await page.count(".estimates tbody tr") }, (_, i) => `.estimates tbody tr:nth-child(${i + 1})`);
  const waiting = await Promise.all(rows.map((row) => page.text(`${row} .waiting`)));
  // The shelf is renewed once more after the last report.
  await settled(page);
  const shelves = [first, await shelfOf(page)] as const;
  const bought = await buyAndReturn(page);
  const shop = await countsAt(page, (name) => `.counts [data-status=${name}] dd`);
  await page.click(".steps a");
  await until("the dashboard is open", async () => (await page.count(".figures .impressions")) === 1);
  const dashboard = await countsAt(page, (name) => `.figures .${name}`);
  return { errors, waiting, shelves, ...bought, shop, dashboard };
}
