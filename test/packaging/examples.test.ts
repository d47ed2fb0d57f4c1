import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import type { Browser, Page } from "playwright-core";
import { build as viteBuild } from "vite";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTestHarness } from "wrangler";
import { SHOP_MODEL } from "../../src/simulation/assortment.ts";
import { secrets, startShop, type TestWorker } from "../browser/worker.ts";
import { describeInChromium, launchChromium } from "../support/chromium.ts";
import { patient } from "../support/patient.ts";
import { started } from "../support/started.ts";
import { installTarball, packed, serve } from "./installation.ts";

// Starts each example in an empty folder, with the packed package and what `examples/README.md` installs beside it.

const execute = promisify(execFile);

let tarball: string;
let base: string;
beforeAll(async () => {
  tarball = await packed();
  base = await mkdtemp(join(tmpdir(), "afterclick-examples-"));
});
afterAll(() => rm(base, { recursive: true, force: true }));

/** Copies an example to an empty folder and installs the package. Packages beside it come from this repository, without a network. */
async function copied(name: string, ...beside: readonly string[]): Promise<string> {
  const folder = join(base, name);
  await mkdir(folder);
  await writeFile(join(folder, "package.json"), "{}");
  await installTarball(folder, tarball);
  for (const each of beside) {
    const link = join(folder, "node_modules", each);
    await mkdir(dirname(link), { recursive: true });
    await symlink(resolve("node_modules", each), link);
  }
  await cp(join("examples", name), folder, { recursive: true });
  return folder;
}

// That of Next.js is built by frameworks.test.ts.
it("has a test for each example", async () => {
  const entries = await readdir("examples", { withFileTypes: true });
  const names = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  expect(names.sort()).toEqual([
    "browser",
    "hono-shop",
    "hour",
    "next",
    "node",
    "react",
    "shop-page",
    "stripe-checkout",
    "vite",
    "webhook",
  ]);
});

it("node: learns each visitor's favourite", async () => {
  const { stdout } = await execute(process.execPath, ["recommend.ts"], { cwd: await copied("node") });
  expect(Number(/(\d+) of the last 300 visitors/.exec(stdout)?.[1])).toBeGreaterThan(250);
});

describe("webhook", () => {
  let worker: TestWorker;
  beforeAll(async () => {
    worker = await startShop();
  });
  afterAll(() => worker?.harness.close());

  it("reports an order to a worker", async () => {
    const headers = { "content-type": "application/json", authorization: `Bearer ${secrets.AFTERCLICK_PUBLISHABLE_KEY}` };
    const address = new URL(`/v1/models/${SHOP_MODEL}/recommendations`, worker.url);
    const answer = await fetch(address, { method: "POST", headers, body: "{}" });
    const { actions } = (await answer.json()) as { actions: { impressionId: string }[] };
    const cwd = await copied("webhook", "standardwebhooks");
    const env = { ...process.env, AFTERCLICK_URL: worker.url.origin, AFTERCLICK_WEBHOOK_SECRET: secrets.AFTERCLICK_WEBHOOK_SECRET };
    const order = ["send.ts", actions[0].impressionId, "1001", new Date().toISOString()];
    expect((await execute(process.execPath, order, { cwd, env })).stdout.trim()).toMatch(/^(applied|accepted)$/);
  });
});

it("hour: serves its page and the package's script", async () => {
  const shop = await started(await copied("hour", "hono", "@hono/node-server", "standardwebhooks"), ["shop.ts"], { ...secrets, PORT: "0" });
  try {
    expect(await (await fetch(shop.url)).text()).toContain(`data-key="${secrets.AFTERCLICK_PUBLISHABLE_KEY}"`);
    expect(await (await fetch(`${shop.url}/page-script.js`)).text()).toBe(await readFile("dist/page-script.js", "utf8"));
  } finally {
    await shop.stop();
  }
});

describe("hono-shop", { shuffle: false }, () => {
  let folder: string;
  beforeAll(async () => {
    folder = await copied("hono-shop", "hono", "@hono/node-server");
  });

  const start = () => started(folder, ["shop.ts"], { PORT: "0" });
  const shownTo = async (url: string, country: string) =>
    (await (await fetch(`${url}/recommendations?country=${country}`)).json()) as { impressionId: string; id: string }[];
  const buy = (url: string, impression: string) => fetch(`${url}/orders`, { method: "POST", body: new URLSearchParams({ impression }) });

  it("learns what sells where, and reports it", async () => {
    const { url, stop } = await start();
    const favourite: Record<string, string> = { PT: "hat", NO: "boots" };
    try {
      for (let visit = 0; visit < 120; visit++) {
        const country = Object.keys(favourite)[visit % 2];
        const bought = (await shownTo(url, country)).find(({ id }) => id === favourite[country]);
        if (!bought) continue;
        const sold = await buy(url, bought.impressionId);
        expect([sold.status, await sold.json()]).toEqual([201, { order: expect.any(Number), product: bought.id, status: "applied" }]);
      }
      for (const [country, id] of Object.entries(favourite)) expect((await shownTo(url, country))[0].id).toBe(id);
      expect((await buy(url, "of another shop")).status).toBe(404);
      const { sales, impressions } = (await (await fetch(`${url}/report`)).json()) as {
        sales: { country: string; product: string; shown: number; sold: number }[];
        impressions: { converted: number };
      };
      expect(sales.find(({ country, product }) => country === "PT" && product === "hat")?.sold).toBeGreaterThan(40);
      expect(sales.reduce((sum, { sold }) => sum + sold, 0)).toBe(impressions.converted);
    } finally {
      await stop();
    }
  });

  it("knows after a restart what it has learnt and what it has shown", async () => {
    const before = await start();
    const [{ impressionId }] = await shownTo(before.url, "PT");
    await before.stop();
    const after = await start();
    try {
      expect((await shownTo(after.url, "NO"))[0].id).toBe("boots");
      expect(await (await buy(after.url, impressionId)).json()).toMatchObject({ product: "hat", status: "applied" });
      expect(await (await fetch(after.url)).text()).toContain("Recommended in PT");
    } finally {
      await after.stop();
    }
  });
});

describeInChromium("in Chromium", () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launchChromium();
  });
  afterAll(() => browser?.close());

  async function opened(url: string, prepare?: (page: Page) => Promise<void>): Promise<{ page: Page; complaints: readonly string[] }> {
    const page = await browser.newPage();
    await prepare?.(page);
    const complaints: string[] = [];
    page.on("console", (message) => void (message.type() === "debug" || complaints.push(message.text())));
    page.on("pageerror", (error) => complaints.push(error.message));
    await page.route("**/favicon.ico", (route) => route.fulfill({ status: 204 }));
    await page.goto(url);
    return { page, complaints };
  }

  it("browser: learns from what is opened", async () => {
    const folder = await copied("browser");
    const site = await serve({ "/examples/browser/": folder, "/dist/": join(folder, "node_modules/afterclick/dist") });
    try {
      const { page, complaints } = await opened(`${site.url}/examples/browser/index.html`);
      await page.locator("li button").first().click();
      await expect.poll(() => page.getByRole("status").innerText()).toBe("1 opened, 2 shown and not opened yet");
      expect(complaints).toEqual([]);
    } finally {
      site.close();
    }
  });

  /** Opens a topic, and another visit; the page goes on with what it has learnt. */
  async function reads(url: string): Promise<void> {
    const { page, complaints } = await opened(url);
    const status = page.getByRole("status");
    await expect.poll(() => status.innerText()).toBe("Open what you like");
    expect(await page.locator("li").count()).toBe(3);
    const button = page.locator("li button").first();
    const topic = await button.innerText();
    await button.click();
    await expect.poll(() => status.innerText()).toBe(`You opened ${topic}`);
    await page.reload();
    await expect.poll(() => status.innerText()).toBe("Open what you like");
    await page.getByRole("button", { name: "Forget me" }).click();
    await expect.poll(() => status.innerText()).toBe("Forgotten");
    expect(complaints).toEqual([]);
    await page.close();
  }

  it("react: shows what a worker recommends", async () => {
    const variables = { ...secrets, AFTERCLICK_ALLOWED_ORIGINS: "http://127.0.0.1:*" };
    const harness = createTestHarness({ workers: [{ configPath: "wrangler.jsonc", secrets: variables }] });
    const env = { ...secrets, AFTERCLICK_URL: (await harness.listen()).url.origin };
    const folder = await copied("react", "react", "react-dom", "vite");
    const server = await started(folder, ["node_modules/vite/bin/vite.js", "--host", "127.0.0.1", "--port", "0"], env);
    try {
      const { page, complaints } = await opened(server.url, patient);
      await page.locator(".cards[data-status=ready]").waitFor();
      expect(await page.locator(".cards a").count()).toBe(3);
      expect(complaints.filter((each) => !each.includes("React DevTools"))).toEqual([]);
    } finally {
      await server.stop();
      await harness.close();
    }
  });

  describe("vite", () => {
    let folder: string;
    beforeAll(async () => {
      folder = await copied("vite", "vite");
    });

    it("runs on the development server", async () => {
      const server = await started(folder, ["node_modules/vite/bin/vite.js", "--host", "127.0.0.1", "--port", "0"]);
      try {
        await reads(`${server.url}/`);
      } finally {
        await server.stop();
      }
    });

    it("runs as it is built", async () => {
      await viteBuild({ root: folder, configFile: join(folder, "vite.config.ts"), logLevel: "error" });
      const site = await serve({ "/": join(folder, "dist") });
      try {
        await reads(`${site.url}/index.html`);
      } finally {
        site.close();
      }
    });
  });
});

it("README.md installs the packages with which each example is tested", async () => {
  const readme = await readFile("examples/README.md", "utf8");
  for (const command of [
    '"$TARBALL" hono @hono/node-server standardwebhooks && node shop.ts',
    '"$TARBALL" && node recommend.ts',
    '"$TARBALL" standardwebhooks && node send.ts',
    '"$TARBALL" hono @hono/node-server && node shop.ts',
    "hono @hono/node-server stripe && node shop.ts",
    "hono @hono/node-server standardwebhooks && node shop.ts",
    '"$TARBALL" react react-dom vite && npx vite',
    '"$TARBALL" next react react-dom && npx next dev',
    '"$TARBALL" vite && npx vite',
  ]) {
    expect(readme).toContain(`npm install ${command}`);
  }
});
