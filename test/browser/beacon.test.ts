// A page's reports, while the page is hidden, left, cut off or without consent: each goal counts once.
import { readFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createTestHarness, type TestHarness } from "wrangler";
import { describeInChromium, launchChromium } from "../support/chromium.ts";
import { secrets } from "./worker.ts";

const HOUR_MS = 3_600_000;
const soon = { timeout: 20_000, interval: 100 };

describeInChromium("a page with a beacon", () => {
  let harness: TestHarness;
  let worker: string;
  let server: Server;
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;
  let models = 0;
  let model: string;
  let impressionId: string;
  /** Attributes of the beacon's script in the next page, besides its address. */
  let attributes = "";
  /** What the next page holds besides the script. */
  let content: (impressionId: string) => string;

  async function call(method: string, path: string, body?: unknown) {
    const headers = { authorization: `Bearer ${secrets.AFTERCLICK_SECRET_KEY}`, "content-type": "application/json" };
    const response = await fetch(`${worker}/v1/${path}`, { method, headers, body: JSON.stringify(body) });
    if (!response.ok) throw new Error(await response.text());
    return response.json();
  }
  /** Impressions that count, and goals that pages reported. */
  const counted = async () => {
    const { counts } = await call("GET", `models/${model}`);
    return [counts.impressions, counts.pageGoals];
  };
  const configured = () => `data-url="${worker}" data-key="${secrets.AFTERCLICK_PUBLISHABLE_KEY}"`;
  const html = () => `<!doctype html><link rel="icon" href="data:,">
    <script defer src="/beacon-script.js" ${attributes}></script>
    ${content(impressionId)}
    <div style="margin-top: 300vh">the end</div>`;

  beforeAll(async () => {
    harness = createTestHarness({
      workers: [{ configPath: "wrangler.jsonc", secrets: { ...secrets, AFTERCLICK_ALLOWED_ORIGINS: "*" } }],
    });
    worker = (await harness.listen()).url.origin;
    server = createServer(async ({ url = "" }, response) => {
      const isScript = url.endsWith(".js");
      response.setHeader("content-type", isScript ? "text/javascript" : "text/html");
      response.end(isScript ? await readFile(`dist${url}`) : url === "/other" ? "<title>another page</title>" : html());
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    browser = await launchChromium();
  });
  afterAll(async () => {
    await browser?.close();
    server?.close();
    await harness?.close();
  });
  beforeEach(async () => {
    model = `beacon-${++models}`;
    attributes = configured();
    content = (id) => `<div data-afterclick="${id}"><button data-afterclick-goal="click">Buy</button></div>`;
    const goals = { click: { weight: 1, public: true }, purchase: { weight: 1 } };
    await call("PUT", `models/${model}`, { window: { ms: HOUR_MS }, serving: "edge", goals });
    await call("PUT", `models/${model}/actions`, { actions: [{ id: "tent" }] });
    const { actions } = await call("POST", `models/${model}/recommendations`, { defer: true });
    [{ impressionId }] = actions;
    context = await browser.newContext();
    page = await context.newPage();
  });
  afterEach(() => context?.close());

  const address = (path = "/") => `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`;
  const click = () => page.locator("button").click();

  it("reports what was seen for a second, and a click once, however often", async () => {
    await page.goto(address());
    expect(await counted()).toEqual([0, 0]);
    await expect.poll(counted, soon).toEqual([1, 0]);
    await click();
    await click();
    await expect.poll(counted, soon).toEqual([1, 1]);
    await page.reload();
    await click();
    await page.waitForResponse("**/v1/beacon");
    expect(await counted()).toEqual([1, 1]);
  });

  it("reports a click of a page that is left at once", async () => {
    await page.goto(address());
    await click();
    await page.goto(address("/other"));
    await expect.poll(counted, soon).toEqual([1, 1]);
  });

  it("reports once if an answer is lost, and if the page is killed before it is sent again", async () => {
    await page.goto(address());
    await page.route("**/v1/beacon", async (route) => {
      await route.fetch();
      await route.abort();
    });
    await click();
    await expect.poll(counted, soon).toEqual([1, 1]);
    await page.close({ runBeforeUnload: false });
    page = await context.newPage();
    const sent = page.waitForResponse("**/v1/beacon");
    await page.goto(address());
    expect(await (await sent).json()).toMatchObject({ reached: [{ status: "duplicate" }] });
    expect(await counted()).toEqual([1, 1]);
  });

  it("keeps a click while it is disconnected, for the next page", async () => {
    await page.goto(address());
    await context.setOffline(true);
    await click();
    await page.waitForTimeout(1000);
    await page.close();
    await context.setOffline(false);
    expect(await counted()).toEqual([0, 0]);
    page = await context.newPage();
    await page.goto(address());
    await expect.poll(counted, soon).toEqual([1, 1]);
  });

  it("sends and stores nothing without consent", async () => {
    attributes += ' data-consent="required"';
    const requests: string[] = [];
    page.on("request", (request) => requests.push(request.url()));
    await page.goto(address());
    await click();
    await page.waitForTimeout(1500);
    expect(requests.filter((url) => url.startsWith(worker))).toEqual([]);
    expect(await page.evaluate("localStorage.length")).toBe(0);
    await page.evaluate("afterclick.consent(true)");
    await click();
    await expect.poll(counted, soon).toEqual([1, 1]);
    await page.evaluate("afterclick.consent(false)");
    expect(await page.evaluate("localStorage.length")).toBe(0);
  });

  describe("a click", () => {
    const link = (id: string) => `<a href="#x" data-afterclick="${id}" data-afterclick-goal="click"><b>Boots</b></a>`;
    /** Waits until the impression was seen, so that a click would have been reported too. */
    const isSeen = () => expect.poll(async () => (await counted())[0], soon).toBe(1);

    it.each(["attributes", "beacon.clicked"])("of the right button, or of the middle one beside a link, is none: %s", async (by) => {
      content = (id) => `${by === "attributes" ? link(id) : listened(id)}<p id="text" data-afterclick-goal="click">text</p>`;
      await page.goto(address());
      await page.locator("b").click({ button: "right" });
      await page.locator("#text").click({ button: "middle" });
      await page.evaluate("document.querySelector('a').dispatchEvent(new MouseEvent('auxclick', { button: 3, bubbles: true }))");
      await isSeen();
      expect(await counted()).toEqual([1, 0]);
    });

    it.each([
      ["attributes", "middle"],
      ["beacon.clicked", "middle"],
      ["attributes", "left"],
      ["beacon.clicked", "left"],
    ] as const)("opens a link, by %s with the %s button", async (by, button) => {
      content = (id) => (by === "attributes" ? link(id) : listened(id));
      await page.goto(address());
      await page.locator("b").click({ button });
      await expect.poll(counted, soon).toEqual([1, 1]);
    });

    it("of the keyboard counts", async () => {
      content = link;
      await page.goto(address());
      await page.locator("a").focus();
      await page.keyboard.press("Enter");
      await expect.poll(counted, soon).toEqual([1, 1]);
    });

    /** A link whose clicks a module reports. */
    const listened = (id: string) => `<a href="#x"><b>Boots</b></a><script type="module">
      import { createBeacon } from "/beacon.js";
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
    const later = (code: string) => `<script>setTimeout(() => { ${code} }, 500);</script>`;
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

    it.each(pages)("is seen and clicked once: %s", async (_, inside) => {
      content = inside;
      const complaints: string[] = [];
      page.on("pageerror", ({ message }) => complaints.push(message));
      await page.goto(address());
      await expect.poll(counted, soon).toEqual([1, 0]);
      await page.locator("a").click();
      await page.locator("a").click();
      await expect.poll(counted, soon).toEqual([1, 1]);
      expect(complaints).toEqual([]);
    });

    it("reports a closed one that is named", async () => {
      attributes = "";
      content = (id) => `<div id="host"></div><script type="module">
        import { createBeacon, watchAttributes } from "/beacon.js";
        const root = document.querySelector("#host").attachShadow({ mode: "closed" });
        root.innerHTML = ${JSON.stringify(link(id))};
        globalThis.link = root.firstChild;
        watchAttributes(createBeacon({ url: "${worker}", key: "${secrets.AFTERCLICK_PUBLISHABLE_KEY}" }), root);
      </script>`;
      await page.goto(address());
      await page.evaluate("link.click()");
      await expect.poll(counted, soon).toEqual([1, 1]);
    });
  });

  describe("a script whose attributes are lost", () => {
    const options = () => JSON.stringify({ url: worker, key: secrets.AFTERCLICK_PUBLISHABLE_KEY, model });
    /** Error messages and requests to the worker of the next page. */
    function watched() {
      const [errors, requests]: string[][] = [[], []];
      page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
      page.on("pageerror", ({ message }) => errors.push(message));
      page.on("request", (request) => request.url().includes("/v1/") && requests.push(request.url()));
      return { errors, requests };
    }

    it.each(["", 'type="module"', 'data-url="https://learn.shop.example"', 'data-key="pk_"', 'data-url="" data-key=""'])(
      "says so once, and sends nothing: %s",
      async (lost) => {
        attributes = lost;
        const { errors, requests } = watched();
        await page.goto(address());
        await click();
        await click();
        await page.waitForTimeout(1500);
        expect(errors).toEqual(["afterclick: set data-url and data-key, or first afterclick = { url, key }"]);
        expect(requests).toEqual([]);
        expect(await page.evaluate("localStorage.length")).toBe(0);
      },
    );

    it.each(["", 'type="module"'])("takes the options that the page sets: %s", async (lost) => {
      attributes = lost;
      const [{ errors }, button] = [watched(), content];
      content = (id) => `${button(id)}<script>var afterclick = ${options()};</script>`;
      await page.goto(address());
      await click();
      await expect.poll(counted, soon).toEqual([1, 1]);
      expect(errors).toEqual([]);
      expect(await page.evaluate("typeof afterclick.consent")).toBe("function");
    });

    it.each([
      ["", "{ consent: false }"],
      ["", '{ consent: "required" }'],
      ['data-consent="required"', "{ consent: true }"],
    ])("waits for consent where either asks for it: %s %s", async (asked, set) => {
      attributes = asked;
      const { requests } = watched();
      const button = content;
      content = (id) => `${button(id)}<script>var afterclick = { ...${options()}, ...${set} };</script>`;
      await page.goto(address());
      await click();
      await page.waitForTimeout(1000);
      expect(requests).toEqual([]);
      await page.evaluate("afterclick.consent(true)");
      await click();
      await expect.poll(counted, soon).toEqual([1, 1]);
    });
  });

  it("adds one name to the page, its own", async () => {
    const names = "Object.getOwnPropertyNames(globalThis)";
    attributes = 'type="text/plain"';
    await page.goto(address());
    const before = (await page.evaluate(names)) as string[];
    attributes = configured();
    await page.goto(address());
    expect(((await page.evaluate(names)) as string[]).filter((name) => !before.includes(name))).toEqual(["afterclick"]);
  });
});
