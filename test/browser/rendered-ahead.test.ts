// A page that Chromium renders before its visitor opens it. No driver takes part: drivers lose such a page when it is opened.
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createTestHarness, type TestHarness } from "wrangler";
import { chromiumPath, describeInChromium } from "../support/chromium.ts";
import { secrets } from "./worker.ts";

const soon = { timeout: 60_000, interval: 100 };
const { AFTERCLICK_PUBLISHABLE_KEY: key } = secrets;

describeInChromium("a page that is rendered ahead", () => {
  let harness: TestHarness;
  let worker: string;
  let server: Server;
  let browser: ChildProcess;
  let folder: string;
  /** Requests of the browser, by path. */
  const requests: string[] = [];
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });

  const call = async (method: string, path: string, body?: unknown) => {
    const headers = { authorization: `Bearer ${secrets.AFTERCLICK_SECRET_KEY}`, "content-type": "application/json" };
    return (await fetch(`${worker}/v1/${path}`, { method, headers, body: JSON.stringify(body) })).json();
  };
  const shown = async () => (await call("GET", "models/ahead")).counts.impressions;

  const start = `<!doctype html><link rel="icon" href="data:,"><a href="/list">list</a>
    <script type="speculationrules">{ "prerender": [{ "urls": ["/list"], "eagerness": "immediate" }] }</script>
    <script>fetch("/opened").then(() => document.querySelector("a").click())</script>`;
  const list = () => `<!doctype html><link rel="icon" href="data:,"><p>Tent</p>
    <script defer src="/page-script.js" data-url="${worker}" data-key="${key}"></script>
    <script type="module">
      const headers = { authorization: "Bearer ${key}", "content-type": "application/json" };
      const answer = await fetch("${worker}/v1/models/ahead/recommendations", { method: "POST", headers, body: "{}" });
      const { actions: [{ impressionId }] } = await answer.json();
      document.querySelector("p").setAttribute("data-afterclick", impressionId);
      await fetch("/marked?" + document.prerendering);
    </script>`;

  beforeAll(async () => {
    harness = createTestHarness({ workers: [{ configPath: "wrangler.jsonc", secrets: { ...secrets, AFTERCLICK_ALLOWED_ORIGINS: "*" } }] });
    worker = (await harness.listen()).url.origin;
    await call("PUT", "models/ahead", { window: { ms: 3_600_000 }, serving: "edge" });
    await call("PUT", "models/ahead/actions", { actions: [{ id: "tent" }] });
    server = createServer(async ({ url = "" }, response) => {
      requests.push(url);
      if (url === "/opened") await opened;
      const isScript = url.endsWith(".js");
      response.setHeader("content-type", isScript ? "text/javascript" : "text/html");
      response.end(isScript ? await readFile(`dist${url}`) : ({ "/": start, "/list": list() }[url] ?? ""));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    folder = await mkdtemp(join(tmpdir(), "afterclick-ahead-"));
    const page = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    // A driver keeps the process alive in this way too, without looking into the page.
    const flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--remote-debugging-port=0"];
    browser = spawn(chromiumPath as string, [...flags, `--user-data-dir=${folder}`, page], { stdio: "ignore" });
  });
  afterAll(async () => {
    const ended = new Promise((resolve) => browser.once("exit", resolve));
    browser.kill();
    await ended;
    server?.closeAllConnections();
    server?.close();
    await harness?.close();
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  });

  it("counts its list once the visitor opens it, and not before", async () => {
    await expect.poll(() => requests, soon).toContain("/marked?true");
    // Longer than an element must be visible, and than the worker gathers impressions.
    await pause(2500);
    expect(await shown()).toBe(0);
    open();
    await expect.poll(shown, soon).toBe(1);
    expect(requests.filter((path) => path === "/list")).toHaveLength(1);
  });
});
