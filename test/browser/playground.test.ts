import { execFileSync } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { Match, type MatchReport } from "../../pages/playground/match.ts";
import { defaults, queryOf, type Settings } from "../../pages/playground/settings.ts";
import { describeInChromium, launchChromium } from "../support/chromium.ts";
import { complaintsOf, outside, startWorker, type TestWorker } from "./worker.ts";

const short: Settings = { ...defaults.linear, rounds: 400, typical: 20, window: 60, seed: 5 };
const soon = { timeout: 60_000 };

async function play(settings: Settings): Promise<MatchReport> {
  const match = await Match.create(settings);
  while (!match.done) match.step();
  return match.report();
}

const types: Record<string, string> = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".css": "text/css",
  ".wasm": "application/wasm",
  ".svg": "image/svg+xml",
};

/** A static host: serves files by name, with no header but the type. */
async function serveFiles(folder: string): Promise<Server> {
  const server = createServer(async (request, response) => {
    const path = new URL(request.url ?? "/", "http://static.example").pathname;
    const name = path.endsWith("/") ? "index.html" : path.slice(path.lastIndexOf("/") + 1);
    const body = await readFile(join(folder, name)).catch(() => undefined);
    response.writeHead(body ? 200 : 404, { "content-type": types[extname(name)] ?? "text/plain" }).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}

let worker: TestWorker;
beforeAll(async () => {
  worker = await startWorker("false");
});
afterAll(() => worker?.harness.close());

it.each([
  ["", "text/html"],
  ["playground.js", "text/javascript"],
  ["background.js", "text/javascript"],
  ["style.css", "text/css"],
  ["core.wasm", "application/wasm"],
  ["icon.svg", "image/svg+xml"],
])("is served by a worker: /playground/%s as %s, under a strict policy", async (name, type) => {
  const { status, headers } = await fetch(new URL(`/playground/${name}`, worker.url));
  expect([status, headers.get("content-type")?.split(";")[0]]).toEqual([200, type]);
  expect(headers.get("content-security-policy")).toContain("default-src 'none'; script-src 'self' 'wasm-unsafe-eval'");
  expect(headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
  expect(headers.get("x-content-type-options")).toBe("nosniff");
  expect(headers.get("referrer-policy")).toBe("no-referrer");
});

describeInChromium("the playground's page", () => {
  let browser: Browser;
  let page: Page;
  let complaints: readonly string[];

  beforeAll(async () => {
    browser = await launchChromium();
  });
  afterAll(() => browser?.close());
  beforeEach(async () => {
    page = await browser.newPage({ viewport: { width: 1280, height: 900 }, colorScheme: "light" });
    complaints = complaintsOf(page, worker.url);
  });
  afterEach(() => page?.close());

  const open = (query = "") => page.goto(new URL(`/playground${query}`, worker.url).href);
  const done = () => page.locator("[role=status][data-state=done]").waitFor(soon);
  const standings = () => page.locator(".standings tbody tr").allInnerTexts();
  const digests = () => page.locator(".standings tbody td:last-child").allInnerTexts();

  it("plays what Node plays, to the bit, and again from its address", async () => {
    await open(queryOf(short));
    await done();
    const first = await standings();
    expect(await page.getByRole("status").innerText()).toMatch(/rounds in \d+(\.\d+)? s/);
    expect(await digests()).toEqual((await play(short)).players.map(({ digest }) => digest));
    await page.reload();
    await done();
    expect(await standings()).toEqual(first);
    await page.getByRole("button", { name: "Next seed" }).click();
    await expect.poll(() => new URL(page.url()).searchParams.get("seed"), soon).toBe("6");
    await done();
    await expect.poll(standings, soon).not.toEqual(first);
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.getByRole("button", { name: "Copy link" }).click();
    await page.getByRole("button", { name: "Copied" }).waitFor();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(page.url());
    expect(complaints).toEqual([]);
  });

  it("says how it goes in words, and stops when asked to", async () => {
    await open(queryOf({ ...short, rounds: 2000, pace: "slow" }));
    await expect.poll(() => page.getByRole("progressbar").evaluate((bar) => (bar as HTMLProgressElement).value), soon).toBeGreaterThan(50);
    await page.getByRole("button", { name: "Stop" }).press("Enter");
    await expect.poll(() => page.getByRole("status").innerText(), soon).toMatch(/^Stopped after [\d,]+ rounds\. Missed: DelayLinTS/);
    const stopped = await standings();
    // The Web Worker has been terminated.
    await expect.poll(() => page.workers().length, soon).toBe(0);
    expect(await standings()).toEqual(stopped);
    await expect.poll(() => page.getByRole("img", { name: /^Conversions missed\. / }).count(), soon).toBe(1);
    await page.locator("figure[aria-labelledby=pending] summary").press("Enter");
    await expect.poll(() => page.locator("figure[aria-labelledby=pending] tbody tr").count(), soon).toBeGreaterThan(3);
    expect(complaints).toEqual([]);
  });

  it("is picked by keyboard, and keeps the address up to date", async () => {
    await open(queryOf({ ...short, rounds: 50 }));
    await done();
    await page.getByRole("radio", { name: "A shelf" }).focus();
    await page.keyboard.press("ArrowRight");
    await expect.poll(() => new URL(page.url()).searchParams.get("problem"), soon).toBe("curve");
    await page.getByRole("spinbutton", { name: "Rounds" }).fill("60");
    await page.keyboard.press("Enter");
    await expect.poll(() => new URL(page.url()).searchParams.get("rounds"), soon).toBe("60");
    await page.getByRole("checkbox", { name: "GP-UCB-SDF" }).press("Space");
    await expect.poll(() => new URL(page.url()).searchParams.get("policies"), soon).toBe("gp-bucb,waiting,uniform");
    await page.getByRole("combobox", { name: "Law" }).selectOption("None");
    await expect.poll(() => new URL(page.url()).searchParams.get("delay"), soon).toBe("none");
    await done();
    expect(await page.getByRole("spinbutton", { name: "Mean" }).count()).toBe(0);
    await expect.poll(() => page.getByRole("heading", { level: 2, name: "Posterior" }).count(), soon).toBe(3);
    await page.getByRole("spinbutton", { name: "Window" }).fill("0");
    await page.keyboard.press("Tab");
    expect(new URL(page.url()).searchParams.get("window")).toBe("100");
    const field = page.getByRole("spinbutton", { name: "Window" });
    await expect.poll(() => field.getAttribute("aria-invalid"), soon).toBe("true");
    await expect.poll(() => page.locator(".delay [role=alert]").last().innerText(), soon).toContain("got 0: 100 still counts.");
    await page.getByRole("radio", { name: "A shelf" }).check({ force: true });
    await expect.poll(() => page.locator(".delay [role=alert]").last().innerText(), soon).toBe("");
    expect([await field.inputValue(), await field.getAttribute("aria-invalid")]).toEqual(["500", "false"]);
    expect(complaints).toEqual([]);
  });

  it("names what is wrong in its address, and plays with defaults instead", async () => {
    await open("?rounds=abc&window=60&colour=red");
    const alert = page.getByRole("alert");
    expect(await alert.innerText()).toMatch(/rounds: expected a whole number[\s\S]*colour: unknown setting/);
    expect(await page.getByRole("spinbutton", { name: "Window" }).inputValue()).toBe("60");
    await done();
  });

  it("says that it needs WebAssembly where there is none", async () => {
    await page.addInitScript("delete globalThis.WebAssembly");
    await open();
    expect(await page.getByRole("alert").innerText()).toContain("needs WebAssembly");
  });

  it("says so when the simulation or its core cannot be loaded", async () => {
    await page.route("**/core.wasm", (route) => route.fulfill({ status: 404, body: "" }));
    await open();
    await expect.poll(() => page.getByRole("alert").innerText(), soon).not.toBe("");
    await page.unroute("**/core.wasm");
    await page.route("**/background.js", (route) => route.abort());
    await page.reload();
    await expect.poll(() => page.getByRole("alert").innerText(), soon).toContain("could not be loaded");
  });

  it.each(["light", "dark"] as const)("fits a phone, %s", async (colorScheme) => {
    await page.setViewportSize({ width: 360, height: 780 });
    await page.emulateMedia({ colorScheme });
    await open(queryOf({ ...defaults.curve, rounds: 80 }));
    await done();
    const settings = page.locator("details.panel");
    expect(await settings.getAttribute("open")).toBeNull();
    for (const numbers of await page.locator("summary").all()) await numbers.click();
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(360);
    expect((await outside(page)).filter((element) => !/<t[hdr]|<table|<thead|<tbody/.test(element))).toEqual([]);
    const paper = await page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    expect(paper).toBe(colorScheme === "light" ? "rgb(250, 248, 244)" : "rgb(21, 21, 19)");
    await page.locator("summary").first().click();
    await expect.poll(() => settings.getAttribute("open"), soon).toBeNull();
    // The form hears of it a moment after the attribute has changed.
    await page.evaluate(() => new Promise((heard) => requestAnimationFrame(() => setTimeout(heard))));
    await page.setViewportSize({ width: 1280, height: 900 });
    await expect.poll(() => settings.getAttribute("open"), soon).not.toBeNull();
    expect(complaints).toEqual([]);
  });

  it("may evaluate no text, by the policy in its headers, and never tries to", async () => {
    const response = await open(queryOf({ ...short, rounds: 20 }));
    const policy = response?.headers()["content-security-policy"];
    expect(policy).toMatch(/script-src 'self' 'wasm-unsafe-eval';/);
    expect(policy).not.toContain("'unsafe-");
    await done();
    expect(complaints).toEqual([]);
  });

  it("plays the same from files on any static host, in any folder", async () => {
    const folder = await mkdtemp(join(tmpdir(), "playground-"));
    execFileSync(process.execPath, ["pages/playground/build.ts", "--out", folder]);
    const server = await serveFiles(folder);
    try {
      const base = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/some/folder/${queryOf(short)}`);
      const complaints = complaintsOf(page, base);
      await page.goto(base.href);
      await done();
      expect(await digests()).toEqual((await play(short)).players.map(({ digest }) => digest));
      // The list of headers belongs to the worker's page.
      expect(complaints).toEqual([]);
    } finally {
      server.close();
      await rm(folder, { recursive: true });
    }
  });
});
