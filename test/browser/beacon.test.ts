// A page's reports, while the page is hidden, left, cut off or without consent: each goal counts once.
import { readFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, test } from "vitest";
import { createTestHarness, type TestHarness } from "wrangler";
import { describeInChromium, launchChromium } from "../support/chromium.ts";
import { secrets } from "./worker.ts";

const HOUR_MS = 3_600_000;
const soon = { timeout: 60_000, interval: 100 };

/** A visitor with storage of its own, to whom a model of its own has shown one impression. */
interface Visit {
  readonly context: BrowserContext;
  readonly model: string;
  page: Page;
  /** Attributes of the beacon's script in the next page, besides its address. */
  attributes: string;
  /** Content of the next page, besides the script. */
  content(impressionId: string): string;
  /** Impressions that count, and goals that pages reported. */
  counted(): Promise<readonly [impressions: number, goals: number]>;
  address(path?: string): string;
  click(): Promise<void>;
}

// Most of the time a page waits, so several visitors come at once.
const suite = () => {
  let harness: TestHarness;
  let worker: string;
  let server: Server;
  let browser: Browser;
  /** Pages by the model of their visit, which is their path. */
  const documents = new Map<string, () => string>();

  async function call(method: string, path: string, body?: unknown) {
    const headers = { authorization: `Bearer ${secrets.AFTERCLICK_SECRET_KEY}`, "content-type": "application/json" };
    const response = await fetch(`${worker}/v1/${path}`, { method, headers, body: JSON.stringify(body) });
    if (!response.ok) throw new Error(await response.text());
    return response.json();
  }
  const configured = () => `data-url="${worker}" data-key="${secrets.AFTERCLICK_PUBLISHABLE_KEY}"`;

  beforeAll(async () => {
    harness = createTestHarness({
      workers: [{ configPath: "wrangler.jsonc", secrets: { ...secrets, AFTERCLICK_ALLOWED_ORIGINS: "*" } }],
    });
    worker = (await harness.listen()).url.origin;
    server = createServer(async ({ url = "" }, response) => {
      const isScript = url.endsWith(".js");
      response.setHeader("content-type", isScript ? "text/javascript" : "text/html");
      response.end(isScript ? await readFile(`dist${url}`) : (documents.get(url.slice(1))?.() ?? "<title>another page</title>"));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    browser = await launchChromium();
  });
  afterAll(async () => {
    await browser?.close();
    server?.close();
    await harness?.close();
  });

  async function visited(model: string): Promise<Visit> {
    const goals = { click: { weight: 1, public: true }, purchase: { weight: 1 } };
    await call("PUT", `models/${model}`, { window: { ms: HOUR_MS }, serving: "edge", goals });
    await call("PUT", `models/${model}/actions`, { actions: [{ id: "tent" }] });
    const { actions } = await call("POST", `models/${model}/recommendations`, { defer: true });
    const [{ impressionId }] = actions;
    const context = await browser.newContext();
    const visit: Visit = {
      context,
      model,
      page: await context.newPage(),
      attributes: configured(),
      content: (id) => `<div data-afterclick="${id}"><button data-afterclick-goal="click">Buy</button></div>`,
      async counted() {
        const { counts } = await call("GET", `models/${model}`);
        return [counts.impressions, counts.pageGoals];
      },
      address: (path = `/${model}`) => `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`,
      click: () => visit.page.locator("button").click(),
    };
    documents.set(
      model,
      () => `<!doctype html><link rel="icon" href="data:,">
    <script defer src="/page-script.js" ${visit.attributes}></script>
    ${visit.content(impressionId)}
    <div style="margin-top: 300vh">the end</div>`,
    );
    return visit;
  }

  let visits = 0;
  const it = test.extend<{ visit: Visit }>({
    // biome-ignore lint/correctness/noEmptyPattern: Vitest reads from the pattern which fixtures this one needs.
    visit: async ({}, use) => {
      const visit = await visited(`beacon-${++visits}`);
      await use(visit);
      await visit.context.close();
    },
  });

  it("reports what was seen for a second, and a click once, however often", async ({ visit, expect }) => {
    await visit.page.goto(visit.address());
    expect(await visit.counted()).toEqual([0, 0]);
    await expect.poll(visit.counted, soon).toEqual([1, 0]);
    await visit.click();
    await visit.click();
    await expect.poll(visit.counted, soon).toEqual([1, 1]);
    await visit.page.reload();
    await visit.click();
    await visit.page.waitForResponse("**/v1/shown");
    expect(await visit.counted()).toEqual([1, 1]);
  });

  it("reports a click of a page that is left at once", async ({ visit, expect }) => {
    await visit.page.goto(visit.address());
    await visit.click();
    await visit.page.goto(visit.address("/other"));
    await expect.poll(visit.counted, soon).toEqual([1, 1]);
  });

  it("reports once if an answer is lost, and if the page is killed before it is sent again", async ({ visit, expect }) => {
    await visit.page.goto(visit.address());
    await visit.page.route("**/v1/shown", async (route) => {
      await route.fetch();
      await route.abort();
    });
    await visit.click();
    await expect.poll(visit.counted, soon).toEqual([1, 1]);
    await visit.page.close({ runBeforeUnload: false });
    visit.page = await visit.context.newPage();
    const sent = visit.page.waitForResponse("**/v1/shown");
    await visit.page.goto(visit.address());
    expect(await (await sent).json()).toMatchObject({ reached: [{ status: "duplicate" }] });
    expect(await visit.counted()).toEqual([1, 1]);
  });

  it("keeps a click while it is disconnected, for the next page", async ({ visit, expect }) => {
    await visit.page.goto(visit.address());
    await visit.context.setOffline(true);
    await visit.click();
    await visit.page.waitForTimeout(1000);
    await visit.page.close();
    await visit.context.setOffline(false);
    expect(await visit.counted()).toEqual([0, 0]);
    visit.page = await visit.context.newPage();
    await visit.page.goto(visit.address());
    await expect.poll(visit.counted, soon).toEqual([1, 1]);
  });

  it("sends and stores nothing without consent", async ({ visit, expect }) => {
    visit.attributes += ' data-consent="required"';
    const requests: string[] = [];
    visit.page.on("request", (request) => requests.push(request.url()));
    await visit.page.goto(visit.address());
    await visit.click();
    await visit.page.waitForTimeout(1500);
    expect(requests.filter((url) => url.startsWith(worker))).toEqual([]);
    expect(await visit.page.evaluate("localStorage.length")).toBe(0);
    await visit.page.evaluate("afterclick.consent(true)");
    await visit.click();
    await expect.poll(visit.counted, soon).toEqual([1, 1]);
    await visit.page.evaluate("afterclick.consent(false)");
    expect(await visit.page.evaluate("localStorage.length")).toBe(0);
  });

  describe("a click", () => {
    const link = (id: string) => `<a href="#x" data-afterclick="${id}" data-afterclick-goal="click"><b>Boots</b></a>`;
    it.for([
      ["attributes", "middle"],
      ["beacon.clicked", "left"],
    ] as const)("opens a link, by %s with the %s button, and the right button opens none", async ([by, button], { visit, expect }) => {
      visit.content = (id) => (by === "attributes" ? link(id) : listened(id));
      await visit.page.goto(visit.address());
      await visit.page.locator("b").click({ button: "right" });
      // Once the impression was seen, a click would have been reported too.
      await expect.poll(async () => (await visit.counted())[0], soon).toBe(1);
      expect(await visit.counted()).toEqual([1, 0]);
      await visit.page.keyboard.press("Escape");
      await visit.page.locator("b").click({ button });
      await expect.poll(visit.counted, soon).toEqual([1, 1]);
    });

    it("of the keyboard counts", async ({ visit, expect }) => {
      visit.content = link;
      await visit.page.goto(visit.address());
      await visit.page.locator("a").focus();
      await visit.page.keyboard.press("Enter");
      await expect.poll(visit.counted, soon).toEqual([1, 1]);
    });

    /** A link whose clicks a module reports. */
    const listened = (id: string) => `<a href="#x"><b>Boots</b></a><script type="module">
      import { createBeacon } from "/page.js";
      const beacon = createBeacon({ url: "${worker}", key: "${secrets.AFTERCLICK_PUBLISHABLE_KEY}" });
      const a = document.querySelector("a");
      beacon.clicked(a, "${id}");
      beacon.seen(a, "${id}");
    </script>`;
  });

  describe("in a shadow root", () => {
    /** A script that defines an element. */
    const defined = (inside: string, name = "shop-card", attributes = 'type="module"') => `<script ${attributes}>
      customElements.define("${name}", class extends HTMLElement {
        connectedCallback() {
          this.attachShadow({ mode: "open" }).innerHTML = ${JSON.stringify(inside)};
        }
      });
    </script>`;
    const link = (id: string) => `<a href="#x" data-afterclick="${id}" data-afterclick-goal="click">Boots</a>`;
    const later = (code: string) => {
      return `<script>customElements.whenDefined("shop-card").then(() => setTimeout(() => { ${code} }, 500));</script>`;
    };
    const pages: readonly [string, (id: string) => string][] = [
      ["an element that is defined before the beacon", (id) => `<shop-card></shop-card>${defined(link(id), "shop-card", "")}`],
      ["an element that is defined later", (id) => `<shop-card></shop-card>${defined(link(id))}`],
      ["an element that comes later", (id) => defined(link(id)) + later("document.body.prepend(document.createElement('shop-card'))")],
      [
        "an element in another one",
        (id) => `<shop-card></shop-card>${defined("<shop-inner></shop-inner>")}${defined(link(id), "shop-inner")}`,
      ],
      [
        "an impression around it",
        (id) => `<p data-afterclick="${id}"><shop-card></shop-card></p>${defined('<a href="#x" data-afterclick-goal="click">Boots</a>')}`,
      ],
      [
        "an impression around a slot",
        (id) =>
          `<shop-card><a href="#x" data-afterclick-goal="click">Boots</a></shop-card>${defined(`<b data-afterclick="${id}"><slot></slot></b>`)}`,
      ],
      ["markup", (id) => `<div><template shadowrootmode="open">${link(id)}</template></div>`],
      [
        "an element that is filled later",
        (id) =>
          `<shop-card></shop-card>${defined("")}${later(`document.querySelector("shop-card").shadowRoot.innerHTML = ${JSON.stringify(link(id))};`)}`,
      ],
      [
        "a link that is marked later",
        (id) =>
          `<shop-card></shop-card>${defined(link(id).replace(id, ""))}${later(`document.querySelector("shop-card").shadowRoot.firstChild.dataset.afterclick = "${id}";`)}`,
      ],
      ["beside elements without a class", (id) => `<no-class></no-class><p is="no-class"></p><shop-card></shop-card>${defined(link(id))}`],
    ];

    it.for(pages)("is seen and clicked once: %s", async ([_, inside], { visit, expect }) => {
      visit.content = inside;
      const complaints: string[] = [];
      visit.page.on("pageerror", ({ message }) => complaints.push(message));
      await visit.page.goto(visit.address());
      await expect.poll(visit.counted, soon).toEqual([1, 0]);
      await visit.page.locator("a").click();
      await visit.page.locator("a").click();
      await expect.poll(visit.counted, soon).toEqual([1, 1]);
      expect(complaints).toEqual([]);
    });

    it("reports a closed one that is named", async ({ visit, expect }) => {
      visit.attributes = "";
      visit.content = (id) => `<div id="host"></div><script type="module">
        import { createBeacon, watchAttributes } from "/page.js";
        const root = document.querySelector("#host").attachShadow({ mode: "closed" });
        root.innerHTML = ${JSON.stringify(link(id))};
        globalThis.link = root.firstChild;
        watchAttributes(createBeacon({ url: "${worker}", key: "${secrets.AFTERCLICK_PUBLISHABLE_KEY}" }), root);
      </script>`;
      await visit.page.goto(visit.address());
      await visit.page.evaluate("link.click()");
      await expect.poll(visit.counted, soon).toEqual([1, 1]);
    });
  });

  describe("a script whose attributes are lost", () => {
    const options = ({ model }: Visit) => JSON.stringify({ url: worker, key: secrets.AFTERCLICK_PUBLISHABLE_KEY, model });
    /** Error messages and requests to the worker of the next page. */
    function watched({ page }: Visit) {
      const [errors, requests]: string[][] = [[], []];
      page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
      page.on("pageerror", ({ message }) => errors.push(message));
      page.on("request", (request) => request.url().includes("/v1/") && requests.push(request.url()));
      return { errors, requests };
    }

    it.for(["", 'type="module"', 'data-url="https://learn.shop.example"', 'data-key="pk_"', 'data-url="" data-key=""'])(
      "says so once, and sends nothing: %s",
      async (lost, { visit, expect }) => {
        visit.attributes = lost;
        const { errors, requests } = watched(visit);
        await visit.page.goto(visit.address());
        await visit.click();
        await visit.click();
        await visit.page.waitForTimeout(1500);
        expect(errors).toEqual(["afterclick: set data-url and data-key, or first afterclick = { url, key }"]);
        expect(requests).toEqual([]);
        expect(await visit.page.evaluate("localStorage.length")).toBe(0);
      },
    );

    it.for(["", 'type="module"'])("takes the options that the page sets: %s", async (lost, { visit, expect }) => {
      visit.attributes = lost;
      const [{ errors }, button] = [watched(visit), visit.content];
      visit.content = (id) => `${button(id)}<script>var afterclick = ${options(visit)};</script>`;
      await visit.page.goto(visit.address());
      await visit.click();
      await expect.poll(visit.counted, soon).toEqual([1, 1]);
      expect(errors).toEqual([]);
      expect(await visit.page.evaluate("typeof afterclick.consent")).toBe("function");
    });

    it.for([
      ["", "{ consent: false }"],
      ["", '{ consent: "required" }'],
      ['data-consent="required"', "{ consent: true }"],
    ])("waits for consent where either asks for it: %s %s", async ([asked, set], { visit, expect }) => {
      visit.attributes = asked;
      const { requests } = watched(visit);
      const button = visit.content;
      visit.content = (id) => `${button(id)}<script>var afterclick = { ...${options(visit)}, ...${set} };</script>`;
      await visit.page.goto(visit.address());
      await visit.click();
      await visit.page.waitForTimeout(1000);
      expect(requests).toEqual([]);
      await visit.page.evaluate("afterclick.consent(true)");
      await visit.click();
      await expect.poll(visit.counted, soon).toEqual([1, 1]);
    });
  });

  it("adds one name to the page, its own", async ({ visit, expect }) => {
    const names = "Object.getOwnPropertyNames(globalThis)";
    visit.attributes = 'type="text/plain"';
    await visit.page.goto(visit.address());
    const before = (await visit.page.evaluate(names)) as string[];
    visit.attributes = configured();
    await visit.page.goto(visit.address());
    expect(((await visit.page.evaluate(names)) as string[]).filter((name) => !before.includes(name))).toEqual(["afterclick"]);
  });
};

describeInChromium("a page with a beacon", suite, { concurrent: true });
