import { execFileSync } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import { Recommender } from "afterclick";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { contenders } from "../../worker/playground/contender.ts";
import { delays } from "../../worker/playground/delay.ts";
import { Match, type MatchReport } from "../../worker/playground/match.ts";
import { defaults, queryOf, type Settings, settingsOf } from "../../worker/playground/settings.ts";
import { describeInChromium, launchChromium } from "../support/chromium.ts";
import { complaintsOf, outside, startWorker, type TestWorker } from "./worker.ts";

const short: Settings = { ...defaults.linear, rounds: 400, typical: 20, window: 60, seed: 5 };
const soon = { timeout: 30_000 };

async function play(settings: Settings): Promise<MatchReport> {
  const match = await Match.create(settings);
  while (!match.done) match.step();
  return match.report();
}

describe("the address of a match", () => {
  it("states every setting, and is read as the same ones", () => {
    for (const settings of [short, { ...defaults.curve, delay: "heavy-tail", pace: "slow" } as const]) {
      expect(settingsOf(queryOf(settings))).toEqual({ settings, problems: [] });
    }
  });

  it("may leave settings out: they are those of its problem", () => {
    expect(settingsOf("").settings).toEqual(defaults.linear);
    expect(settingsOf("?window=7&problem=curve").settings).toEqual({ ...defaults.curve, window: 7 });
  });

  it.each([
    ["rounds=abc", "rounds: expected a whole number from 10 to 20000, got “abc”"],
    ["seed=-1", "seed: expected a whole number from 0 to 999999999, got “-1”"],
    ["window=1e3", "window: expected a whole number from 1 to 20000, got “1e3”"],
    ["delay=constructor", "delay: expected one of geometric, uniform, log-normal, heavy-tail, none, got “constructor”"],
    ["problem=", "problem: expected one of linear, curve, got “”"],
    ["policies=uniform,uniform", "policies: expected 1 to 5 different ones of delay-lin-ts"],
    ["policies=gp-ucb", "policies: expected 1 to 5 different ones of delay-lin-ts"],
    ["pace=%FF", "pace: expected one of fast, slow"],
    ["colour=red", "colour: there is no such setting"],
  ])("names what is wrong in %s, and does not take it", (query, problem) => {
    const { settings, problems } = settingsOf(`?${query}`);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(problem);
    expect(settings).toEqual(defaults.linear);
  });
});

describe("a match", () => {
  it("is the same again from the same settings, and another from another seed", async () => {
    const report = await play(short);
    expect(await play(short)).toEqual(report);
    const other = await play({ ...short, seed: 6 });
    for (const [i, { name, digest, regret }] of report.players.entries()) {
      expect(other.players[i].regret, name).not.toEqual(regret);
      if (name !== "Uniform") expect(other.players[i].digest, name).not.toEqual(digest);
    }
  });

  it.each(["linear", "curve"] as const)("accounts for every impression of %s, whatever the policy and the law", async (problem) => {
    const names = Object.keys(contenders[problem]);
    for (const [i, delay] of (Object.keys(delays) as (keyof typeof delays)[]).entries()) {
      // Five at a time, so that every policy and every law is met.
      const policies = names.filter((_, place) => place % 4 === i % 4).slice(0, 5);
      const report = await play({ ...defaults[problem], policies, delay, typical: 10, window: 25, rounds: 120 });
      for (const { name, pending, counted, late, choices, regret } of report.players) {
        expect(
          choices.reduce((sum, each) => sum + each, 0),
          name,
        ).toBe(120);
        expect(regret.at(-1), name).toBeGreaterThanOrEqual(0);
        expect(pending.at(-1), name).toBeLessThanOrEqual(26);
        if (delay === "none") expect(late.at(-1), name).toBe(0);
        if (problem === "curve" && delay === "none") expect(counted.at(-1), name).toBe(120);
        expect((counted.at(-1) as number) + (late.at(-1) as number) + (pending.at(-1) as number)).toBeLessThanOrEqual(120);
      }
    }
  });

  it.each(["linear", "curve"] as const)("counts as pending in %s what the SDK does", async (problem) => {
    const create = vi.spyOn(Recommender, "create");
    const policies = Object.keys(contenders[problem]).filter((name) => name !== "waiting");
    for (let first = 0; first < policies.length; first += 5) {
      create.mockClear();
      const settings = { ...defaults[problem], policies: policies.slice(first, first + 5), typical: 15, window: 20, rounds: 90 };
      const { players } = await play(settings);
      const recommenders = await Promise.all(create.mock.results.map(({ value }) => value as Promise<Recommender>));
      expect(recommenders.map((each) => each.counts().pending)).toEqual(players.map(({ pending }) => pending.at(-1)));
      expect(recommenders.map((each) => each.digest())).toEqual(players.map(({ digest }) => digest));
    }
    create.mockRestore();
  });

  it("shows the worker's default ahead of one that waits for windows to close, and both ahead of chance", async () => {
    const report = await play({ ...defaults.linear, rounds: 1500, window: 300, typical: 60, seed: 11 });
    const missed = Object.fromEntries(report.players.map(({ name, regret }) => [name, regret.at(-1) as number]));
    expect(missed.DelayLinTS).toBeLessThan(missed.Waiting);
    expect(missed.Waiting).toBeLessThan(missed.Uniform);
  });

  it.each(Object.entries(delays))("draws %s delays as its law says", async (_, choice) => {
    const { stream } = await import("../../experiments/environment.ts");
    const law = choice.law(40);
    const random = stream("delays of a test");
    const drawn = Array.from({ length: 4000 }, () => law.draw(random));
    for (const m of [5, 40, 200]) {
      expect(drawn.filter((delay) => delay <= m).length / drawn.length).toBeCloseTo(law.cdf(m), 1);
    }
  });
});

const types: Record<string, string> = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".css": "text/css",
  ".wasm": "application/wasm",
  ".svg": "image/svg+xml",
};

/** Any static host: files by their names, and no headers but their type. */
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

describeInChromium("the playground's page", () => {
  let worker: TestWorker;
  let browser: Browser;
  let page: Page;
  let complaints: readonly string[];

  beforeAll(async () => {
    [worker, browser] = await Promise.all([startWorker("false"), launchChromium()]);
  });
  afterAll(async () => {
    await browser?.close();
    await worker?.harness.close();
  });
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
    expect(await digests()).toEqual((await play(short)).players.map(({ digest }) => digest));
    await page.reload();
    await done();
    expect(await standings()).toEqual(first);
    await page.getByRole("button", { name: "Next seed" }).click();
    await expect.poll(() => new URL(page.url()).searchParams.get("seed"), soon).toBe("6");
    await done();
    await expect.poll(standings, soon).not.toEqual(first);
    expect(complaints).toEqual([]);
  });

  it("plays three policies over 3,000 rounds in less than two seconds", async () => {
    await open(queryOf({ ...defaults.linear, policies: ["delay-lin-ts", "otf-lin-ucb", "otf-lin-ts"] }));
    const seconds: number[] = [];
    // The best of as many as there is time for: other tests run on this machine at the same time.
    const started = Date.now();
    do {
      await done();
      const [, took] = /rounds in ([\d.]+) s/.exec(await page.getByRole("status").innerText()) as RegExpExecArray;
      seconds.push(Number(took));
      await page.getByRole("button", { name: "Play again" }).click();
    } while (Math.min(...seconds) >= 2 && Date.now() < started + 40_000);
    expect(Math.min(...seconds)).toBeLessThan(2);
  });

  it("says how it goes in words, and stops when asked to", async () => {
    await open(queryOf({ ...short, rounds: 2000, pace: "slow" }));
    await expect.poll(() => page.getByRole("progressbar").evaluate((bar) => (bar as HTMLProgressElement).value), soon).toBeGreaterThan(50);
    await page.getByRole("button", { name: "Stop" }).press("Enter");
    await expect.poll(() => page.getByRole("status").innerText(), soon).toMatch(/^Stopped after [\d,]+ rounds\. Missed: DelayLinTS/);
    const stopped = await standings();
    await page.waitForTimeout(400);
    expect(await standings()).toEqual(stopped);
    expect(await page.getByRole("img", { name: /^Conversions missed\. / }).count()).toBe(1);
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
    expect(await page.getByRole("heading", { level: 2, name: "What it believes" }).count()).toBe(3);
    await page.getByRole("spinbutton", { name: "Window" }).fill("0");
    await page.keyboard.press("Tab");
    expect(new URL(page.url()).searchParams.get("window")).toBe("100");
    expect(complaints).toEqual([]);
  });

  it("names what is wrong in its address, and plays with defaults instead", async () => {
    await open("?rounds=abc&window=60&colour=red");
    const alert = page.getByRole("alert");
    expect(await alert.innerText()).toMatch(/rounds: expected a whole number[\s\S]*colour: there is no such setting/);
    expect(await page.getByRole("spinbutton", { name: "Window" }).inputValue()).toBe("60");
    await done();
  });

  it("says that it needs WebAssembly where there is none", async () => {
    await page.addInitScript("delete globalThis.WebAssembly");
    await open();
    expect(await page.getByRole("alert").innerText()).toContain("no WebAssembly");
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
    for (const numbers of await page.locator("summary").all()) await numbers.click();
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(360);
    expect((await outside(page)).filter((element) => !/<t[hdr]|<table|<thead|<tbody/.test(element))).toEqual([]);
    const paper = await page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    expect(paper).toBe(colorScheme === "light" ? "rgb(250, 248, 244)" : "rgb(21, 21, 19)");
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
    execFileSync(process.execPath, ["worker/playground/build.ts", "--out", folder]);
    const server = await serveFiles(folder);
    try {
      const base = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/some/folder/${queryOf(short)}`);
      const told = complaintsOf(page, base);
      await page.goto(base.href);
      await done();
      expect(await digests()).toEqual((await play(short)).players.map(({ digest }) => digest));
      // The first list is of the worker's page, which this one is not.
      expect(told).toEqual([]);
    } finally {
      server.close();
      await rm(folder, { recursive: true });
    }
  });
});
