// docs/hour.md as its reader follows it: each command, each click, and what the page says that the dashboard then shows.
// AFTERCLICK_SCREENSHOTS=DIR saves the picture of the dashboard in this folder.
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { anyFreePort } from "../../cli/worker/worker-process.ts";
import { wrongLooks } from "../support/axe.ts";
import { describeInChromium, launchChromium } from "../support/chromium.ts";
import { type Block, blocksOf } from "../support/documents.ts";
import { patient } from "../support/patient.ts";
import { started } from "../support/started.ts";

const text = await readFile("docs/hour.md", "utf8");
const blocks = blocksOf({ path: "docs/hour.md", text });
const soon = { timeout: 60_000, interval: 50 };

/** Files that a start writes. The reader of this test has their own. */
const OWN = [".dev.vars", ".wrangler", ".git"];
/** The reader's settings: one block. */
const [{ code: settings }] = blocks.filter(({ code }) => code.includes("\nURL="));
const played = new Set<string>([settings]);

describeInChromium("the hour", () => {
  let folder: string;
  let worker: Awaited<ReturnType<typeof started>>;
  let shop: Awaited<ReturnType<typeof started>>;
  let browser: Browser;
  let page: Page;
  let bought: string;
  const complaints: string[] = [];
  const env = { PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH}`, PORT: "0" };

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "afterclick-hour-"));
    const names = (await readdir(".")).filter((name) => !OWN.includes(name));
    await Promise.all(names.map((name) => symlink(resolve(name), join(folder, name))));
    browser = await launchChromium();
    page = await browser.newPage({ viewport: { width: 1280, height: 1000 }, reducedMotion: "reduce" });
    page.on("console", (message) => void (/^(error|warning)$/.test(message.type()) && complaints.push(message.text())));
    page.on("pageerror", ({ message }) => complaints.push(message));
    await patient(page);
  });
  afterAll(async () => {
    await browser?.close();
    await shop?.stop();
    await worker?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  /** The one block of commands with this text, as somebody enters it whose worker has another port. */
  function commands(part: string): string {
    const found = blocks.filter(({ language, code }) => language === "sh" && code !== settings && code.includes(part));
    expect(found.length, part).toBe(1);
    played.add(found[0].code);
    return found[0].code;
  }

  /** Runs commands in the second terminal. An HTTP error ends them. */
  async function run(part: string): Promise<string> {
    const curl = 'set -e; curl() { command curl --fail-with-body --silent --show-error "$@"; }\n';
    const code = curl + (settings + commands(part)).replaceAll("http://localhost:8787", worker.url);
    return (await promisify(execFile)("bash", ["-c", code], { cwd: folder, env: { ...process.env, ...env } })).stdout;
  }

  /** Starts what stays, in a terminal of its own. */
  function start(part: string): ReturnType<typeof started> {
    const code = commands(part).replace(/(?<=^|\n)(?:npx )?([^\n]+)\n$/, "exec $1");
    return started(folder, ["-c", code], { ...env, AFTERCLICK_URL: worker.url }, "bash");
  }

  /** What the reader presses, in the order of the page. */
  const pressed = Array.from(text.matchAll(/Press "([^"]+)"/g), ([, name]) => name);
  const cards = () => page.locator(".cards[data-ready] a");

  it("1. starts a worker", async () => {
    // The tests run after `npm ci`, and in what is built.
    expect(commands("npm start")).toBe("npm ci && npm start\n");
    worker = await started(folder, ["scripts/start.ts"], { PORT: String(await anyFreePort()) });
  });

  it("2. makes a model, whose catalogue has three products", async () => {
    await run("-X PUT $URL/v1/models/hour -H");
    expect(JSON.parse(await run("/v1/models/hour/actions"))).toMatchObject({ actions: 3 });
  });

  it("3. shows three cards, in the worker's order once the visitor agrees, and axe finds nothing", async () => {
    shop = await start("examples/hour/shop.ts");
    await page.goto(shop.url);
    await cards().first().waitFor();
    expect(await cards().count()).toBe(3);
    await page.getByRole("button", { name: pressed[0] }).click();
    await page.getByRole("button", { name: "Stop that" }).waitFor();
    await cards().first().waitFor();
    const links = await cards().evaluateAll((all) => all.map((link) => new URL((link as HTMLAnchorElement).href)));
    expect(new Set(links.map(({ pathname }) => pathname))).toEqual(new Set(["boots", "hat", "scarf"].map((id) => `/products/${id}`)));
    expect(await wrongLooks(page, "cards")).toEqual([]);
    await page.setViewportSize({ width: 1280, height: 1000 });
    await page.emulateMedia({ colorScheme: "light" });
  });

  it("4. reports the order of a card that was clicked", async () => {
    await cards().first().click();
    bought = new URL(page.url()).pathname.replace("/products/", "");
    expect(await wrongLooks(page, "product")).toEqual([]);
    await page.getByRole("button", { name: pressed[1] }).click();
    const [, status] = /The page says `(.+?)`/.exec(text) as RegExpExecArray;
    expect(await page.getByRole("status").innerText()).toBe(status);
    expect(await wrongLooks(page, "order")).toEqual([]);
  });

  it("5. rehearses a late order and a refund, and prints what the page says", async () => {
    const printed = await run("npm run rehearse");
    const { code } = blocks.find(({ language }) => language === "text") as Block;
    const lines = code.replaceAll("http://localhost:8787", worker.url).split("\n");
    const pattern = lines.map((line) => line.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&").replaceAll("\\.\\.\\.", ".+")).join("\n");
    expect(printed).toMatch(new RegExp(pattern.trimEnd()));
  });

  it("6. reads on the dashboard what the page says", async () => {
    await page.emulateMedia({ colorScheme: "light" });
    await page.setViewportSize({ width: 1280, height: 1000 });
    await page.goto(`${worker.url}/#dashboard/hour`);
    const figure = (name: string) => page.locator(`.figures .${name}`).innerText();
    await expect.poll(() => Promise.all(["impressions", "converted", "applied"].map(figure)), soon).toEqual(["3", "1", "2"]);
    const counts = `${await figure("impressions")} shown, ${await figure("converted")} converted, ${await figure("pending")} pending`;
    const told = await page.locator(".lift", { hasText: "purchase" }).innerText();
    const [, verdict, more] = /(Too few [^.]+)\.[\s\S]*about (.+)$/m.exec(told) as RegExpExecArray;
    const all = [counts, `${await figure("applied")} applied`, verdict, more];
    expect(all.filter((said) => !text.replaceAll("\n", " ").includes(said))).toEqual([]);
    const table = (column: string) =>
      page.getByRole("table").filter({ has: page.getByRole("columnheader", { name: column, exact: true }) });
    expect(await table("Refunds").innerText()).toMatch(/purchase\s+1 of [\d.]+ EUR/);
    const folderOfPictures = process.env.AFTERCLICK_SCREENSHOTS;
    if (folderOfPictures) {
      await mkdir(folderOfPictures, { recursive: true });
      await page.screenshot({ path: join(folderOfPictures, "hour.png") });
    }
    await page.locator(".recents a", { hasText: "converted" }).click();
    await page.getByRole("heading", { name: `Why ${bought}` }).waitFor();
    const means = await page.locator(".candidates tbody tr").evaluateAll((rows) =>
      rows.map((row): [string, number] => {
        const [name, mean] = [row.querySelector("th"), row.querySelector(".number")].map((cell) => cell?.firstChild?.textContent?.trim());
        return [name ?? "", Number(mean)];
      }),
    );
    const { [bought]: mean, ...others } = Object.fromEntries(means);
    const price = Number(/([\d.]+) EUR/.exec(await page.locator(".explanation p", { hasText: "Shown at" }).innerText())?.[1]);
    expect(mean).toBeGreaterThan(price / 2);
    for (const other of Object.values(others)) expect(other).toBeLessThan(price / 20);
    expect(complaints).toEqual([]);
  });

  it("7. deletes what the page has made", async () => {
    await run("-X DELETE");
    await page.goto(`${worker.url}/`);
    await page.goto(`${worker.url}/#dashboard/hour`);
    await page.getByText("No model hour").waitFor();
  });

  it("has played every command of the page", () => {
    const commands = blocks.filter(({ language }) => language === "sh").map(({ code }) => code);
    expect(commands.filter((code) => !played.has(code))).toEqual([]);
  });
});
