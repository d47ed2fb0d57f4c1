// docs/hour.md as its reader follows it: each command, each click, and what the page says that the dashboard then shows.
// AFTERCLICK_SCREENSHOTS=DIR saves the picture of the dashboard in this folder.
import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { parseEnv, promisify } from "node:util";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { anyFreePort } from "../../cli/worker/worker-process.ts";
import { wrongLooks } from "../support/axe.ts";
import { describeInChromium, launchChromium } from "../support/chromium.ts";
import { type Block, blocksOf } from "../support/documents.ts";
import { patient } from "../support/patient.ts";
import { started } from "../support/started.ts";

const text = await readFile("docs/hour.md", "utf8");
const blocks = blocksOf({ path: "docs/hour.md", text });
const pictures = process.env.AFTERCLICK_SCREENSHOTS;
const soon = { timeout: 60_000, interval: 50 };

/** Files that a start writes. The reader of this test has their own. */
const OWN = [".dev.vars", ".wrangler", ".git"];
const COPIED = ["dist", "examples"];
/** The reader's settings: one block. */
const [{ code: settings }] = blocks.filter(({ code }) => code.includes("\nURL="));
const played = new Set<string>([settings]);

describeInChromium("the hour", () => {
  let folder: string;
  let worker: Awaited<ReturnType<typeof started>>;
  let shop: Awaited<ReturnType<typeof started>>;
  let browser: Browser;
  const env = { PATH: [dirname(process.execPath), resolve("node_modules/.bin"), process.env.PATH].join(delimiter), PORT: "0" };

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "afterclick-hour-"));
    // Vite serves files of its folder, and keeps what it has built in `node_modules`.
    await Promise.all(COPIED.map((name) => cp(name, join(folder, name), { recursive: true })));
    await mkdir(join(folder, "node_modules"));
    const names = (await readdir(".")).filter((name) => ![...OWN, ...COPIED, "node_modules"].includes(name));
    names.push(...(await readdir("node_modules")).filter((name) => !name.startsWith(".vite")).map((name) => `node_modules/${name}`));
    await Promise.all(names.map((name) => symlink(resolve(name), join(folder, name))));
    if (pictures) await mkdir(pictures, { recursive: true });
    browser = await launchChromium();
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
    const code = commands(part).replaceAll("http://localhost:3000", shop?.url ?? "");
    // Ctrl-C ends the program itself.
    const alone = code.replace(/(?:npx )?(?=\S+ \S+\n$)/, "exec env ");
    return started(folder, ["-c", alone], { ...env, AFTERCLICK_URL: worker.url }, "bash");
  }

  it("1. starts a worker", async () => {
    // The tests run after `npm ci`, and in what is built.
    expect(commands("npm start")).toBe("npm ci && npm start\n");
    worker = await started(folder, ["scripts/start.ts"], { PORT: String(await anyFreePort()) });
    shop = await start("examples/hour/shop.ts");
  });

  /** Each form of the cards: the server of its page, and what its visitor does after "Yes". */
  const forms = {
    "plain HTML": { serve: async () => shop, agreed: async () => undefined },
    React: { serve: () => start("npx vite examples/react"), agreed: (page: Page) => page.reload() },
  };
  /** What the reader presses, in the order of the page. */
  const pressed = new Set(Array.from(text.matchAll(/\b[Pp]ress "([^"]+)"/g), ([, name]) => name));
  const [yes, buy] = pressed;

  describe.each(Object.entries(forms))("in %s", (_, { serve, agreed }) => {
    let site: Awaited<ReturnType<typeof started>>;
    let page: Page;
    let bought: string;
    const complaints: string[] = [];
    beforeAll(async () => {
      page = await browser.newPage({ viewport: { width: 1280, height: 1000 }, reducedMotion: "reduce" });
      page.on("console", (message) => void (/^(error|warning)$/.test(message.type()) && complaints.push(message.text())));
      page.on("pageerror", ({ message }) => complaints.push(message));
      await patient(page);
    });
    afterAll(async () => {
      await page?.close();
      if (site !== shop) await site?.stop();
    });

    const cards = () => page.locator(".cards[data-status=ready] a");
    const shown = async () => {
      const { AFTERCLICK_SECRET_KEY: key } = parseEnv(await readFile(join(folder, ".dev.vars"), "utf8"));
      const answer = await fetch(`${worker.url}/v1/models/hour`, { headers: { authorization: `Bearer ${key}` } });
      return (await answer.json()).counts.impressions;
    };

    it("2. makes a model, whose catalogue has three products", async () => {
      await run("-X PUT $URL/v1/models/hour -H");
      expect(JSON.parse(await run("/v1/models/hour/actions"))).toMatchObject({ actions: 3 });
    });

    it("3. shows three cards, which count once the visitor agrees, and axe finds nothing", async () => {
      site = await serve();
      await page.goto(site.url);
      await cards().first().waitFor();
      expect([await cards().count(), await shown()]).toEqual([3, 0]);
      await page.getByRole("button", { name: yes }).click();
      await page.getByRole("button", { name: "Stop that" }).waitFor();
      await agreed(page);
      await cards().first().waitFor();
      const links = await cards().evaluateAll((all) => all.map((link) => (link as HTMLAnchorElement).href));
      const paths = links.map((link) => new URL(link).pathname);
      expect(paths.toSorted()).toEqual(["/products/boots", "/products/hat", "/products/scarf"]);
      await expect.poll(shown, soon).toBe(3);
      expect(await wrongLooks(page, "cards")).toEqual([]);
    });

    it("4. reports the order of a card that was clicked", async () => {
      await cards().first().click();
      await page.getByRole("button", { name: buy }).waitFor();
      bought = new URL(page.url()).pathname.replace("/products/", "");
      expect(await wrongLooks(page, "product")).toEqual([]);
      await page.getByRole("button", { name: buy }).click();
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
      expect(await page.getByRole("row", { name: /^purchase 1 of [\d.]+ EUR/ }).count()).toBe(1);
      if (pictures) await page.screenshot({ path: join(pictures, "hour.png") });
      await page.locator(".recents a", { hasText: "converted" }).click();
      await page.getByRole("heading", { name: `Why ${bought}` }).waitFor();
      const { [bought]: mean, ...others } = await meansOn(page);
      const price = Number(/([\d.]+) EUR/.exec(await page.locator(".explanation p", { hasText: "Shown at" }).innerText())?.[1]);
      expect(mean).toBeGreaterThan(price / 2);
      for (const other of Object.values(others)) expect(other).toBeLessThan(price / 20);
      expect(complaints).toEqual([]);
    });

    it("7. deletes what the page has made", async () => {
      await run("-X DELETE");
      await page.reload();
      await page.getByText("No model hour").waitFor();
    });
  });

  /** What the dashboard expects of each product in place of the chosen impression. */
  async function meansOn(page: Page): Promise<Record<string, number>> {
    const rows = await page.locator(".candidates tbody tr").evaluateAll((all) =>
      all.map((row) => {
        const [name = "", mean] = ["th", ".number"].map((cell) => row.querySelector(cell)?.firstChild?.textContent?.trim());
        return [name, Number(mean)] as const;
      }),
    );
    return Object.fromEntries(rows);
  }

  it("has played every command of the page", () => {
    const commands = blocks.filter(({ language }) => language === "sh").map(({ code }) => code);
    expect(commands.filter((code) => !played.has(code))).toEqual([]);
  });
});
