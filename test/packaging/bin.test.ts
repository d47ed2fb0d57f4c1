import { execFile, spawnSync } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join, resolve } from "node:path";
import { setTimeout } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTestHarness, type TestHarness } from "wrangler";
import { installTarball, packed, run, secrets } from "./installation.ts";

// Runs the packed package's commands with npx, in a folder without the repository.

const { AFTERCLICK_TOKEN_KEY: _, AFTERCLICK_JOIN_KEY: __, ...keys } = secrets;

let tarball: string;
let base: string;
/** An empty folder, in which the commands run. */
let folder: string;
/** The unpacked package's commands. */
let bin: string;
beforeAll(async () => {
  tarball = await packed();
  base = await mkdtemp(join(tmpdir(), "afterclick-bin-"));
  run(base, "tar", ["-xzf", tarball]);
  bin = join(base, "package/dist/bin");
  folder = join(base, "folder");
  await mkdir(folder);
});
afterAll(() => rm(base, { recursive: true }));

/** The environment of a user, without what npm and this process add. */
const own = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(npm_|AFTERCLICK_)/.test(name)));

function called(program: string, args: readonly string[]) {
  const PATH = `${resolve("node_modules/.bin")}${delimiter}${process.env.PATH}`;
  const { status, stdout, stderr } = spawnSync(program, args, { cwd: folder, encoding: "utf8", env: { ...own, ...keys, PATH } });
  return { status, out: stdout, error: stderr };
}
/** Runs a command of the packed package with npx, without a network. */
const npx = (...args: readonly string[]) => called("npx", ["--offline", "--yes", `--package=${tarball}`, "afterclick", ...args]);
/** Runs it without npx, which takes some seconds. */
const afterclick = (...args: readonly string[]) => called(process.execPath, [join(bin, "afterclick.js"), ...args]);

it("names its commands, and refuses another word", () => {
  const { status, out } = npx("help");
  expect(status).toBe(0);
  for (const name of ["deploy", "doctor", "rehearse", "import", "export", "verify", "evaluate", "compare", "replay"]) {
    expect(out).toMatch(new RegExp(`^ {2}${name} `, "m"));
    expect(run(folder, process.execPath, [join(bin, "afterclick.js"), name, "--help"])).toContain(`Usage: npx afterclick ${name}`);
  }
  expect(afterclick("deplyo")).toMatchObject({ status: 1, error: expect.stringContaining("expected a command, got deplyo") });
});

it("says in one line that an old Node is too old", () => {
  const older = `data:text/javascript,Object.defineProperty(process.versions, "node", { value: "20.20.2" })`;
  const { status, stdout, stderr } = spawnSync(process.execPath, ["--import", older, join(bin, "afterclick.js"), "verify", "events.jsonl"]);
  const message = "afterclick: expected Node 22.18 or newer, got 20.20.2; install it from https://nodejs.org and try again.\n";
  expect([status, `${stdout}`, `${stderr}`]).toEqual([1, "", message]);
});

it("takes at most 128 kB, gzipped", async () => {
  const files = await Promise.all((await readdir(bin)).map((name) => readFile(join(bin, name))));
  expect(gzipSync(Buffer.concat(files)).length / 1000).toBeLessThanOrEqual(128);
});

describe("deploy in an empty folder", { shuffle: false }, () => {
  it("writes a configuration and a worker, and names the packages that are missing", async () => {
    const { status, out, error } = npx("deploy", "--dry-run");
    expect([status, out]).toEqual([1, expect.stringContaining("Wrote two files")]);
    expect(error).toContain("This folder lacks packages: afterclick, hono, valibot, wrangler");
    expect((await readdir(folder)).sort()).toEqual(["worker.js", "wrangler.jsonc"]);
  });

  it("bundles the worker once they are there", async () => {
    await mkdir(join(folder, "node_modules"), { recursive: true });
    await installTarball(folder, tarball);
    for (const name of ["hono", "valibot", "wrangler"]) await symlink(resolve("node_modules", name), join(folder, "node_modules", name));
    const { status, out, error } = npx("deploy", "--dry-run");
    expect([status, error.replace(/^npm warn.*\n/gm, "")]).toEqual([0, ""]);
    expect(out).toMatch(/^Bundled afterclick: \d+ kB gzipped[\s\S]*Nothing was deployed\.\n$/);
    expect(afterclick("deploy", "--dry-run", "--env", "staging").out).toContain("afterclick-staging-events");
  });

  describe("whose worker runs here", { shuffle: false }, () => {
    let harness: TestHarness;
    let url: string;
    beforeAll(async () => {
      harness = createTestHarness({ workers: [{ configPath: join(folder, "wrangler.jsonc"), secrets }] });
      url = (await harness.listen()).url.href;
    });
    afterAll(() => harness?.close());

    const call = (method: string, path: string, body?: object) => {
      const headers = { authorization: `Bearer ${keys.AFTERCLICK_SECRET_KEY}`, "content-type": "application/json" };
      return harness.fetch(path, { method, headers, body: JSON.stringify(body) });
    };

    // The commands run beside this process, because the worker answers from it.
    const beside = async (args: readonly string[], env: Readonly<Record<string, string>> = keys) => {
      const bin = join(folder, "node_modules/afterclick/dist/bin/afterclick.js");
      return new Promise<{ code: number; out: string; error: string }>((settle) =>
        execFile(process.execPath, [bin, ...args], { cwd: folder, env: { ...own, ...env } }, (error, out, stderr) =>
          settle({ code: error ? Number(error.code) : 0, out, error: stderr }),
        ),
      );
    };

    it("has its pages and its description", async () => {
      const html = await (await harness.fetch("/")).text();
      const [, style, script] = /<link rel="stylesheet"[^>]* href="([^"]+)">[\s\S]*<script[^>]* src="([^"]+)">/.exec(
        html,
      ) as RegExpExecArray;
      for (const path of [style, script, "/playground/", "/openapi.json"]) {
        const { status, headers } = await harness.fetch(path);
        expect([path, status, headers.get("x-content-type-options")]).toEqual([path, 200, "nosniff"]);
      }
    });

    it("doctor finds nothing wrong, and leaves no model", async () => {
      const { code, out, error } = await beside(["doctor", "--url", url]);
      expect([code, error, out]).toEqual([0, "", expect.not.stringMatching(/^(wrong|skipped)/m)]);
      for (const check of ["address", "secret key", "clock", "webhook", "learning", "publishable key", "origins", "KV", "clean-up"])
        expect(out).toMatch(new RegExp(`^ok {6}${check} `, "m"));
      expect(
        await (await harness.fetch("/v1/models", { headers: { authorization: `Bearer ${keys.AFTERCLICK_SECRET_KEY}` } })).json(),
      ).toEqual({ models: [] });
    });

    it("doctor names what is wrong", async () => {
      const env = { ...keys, AFTERCLICK_WEBHOOK_SECRET: "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" };
      const { code, out } = await beside(["doctor", "--url", url, "--origin", "https://shop.example"], env);
      expect([code, out.match(/^wrong +\w+/gm)]).toEqual([1, ["wrong   webhook", "wrong   origins"]]);
    });

    it("rehearse plays a late order and a refund in a model of its own, again and again, and only reads the other one", async () => {
      const goals = { sale: { weight: 1, value: { currency: "EUR" } } };
      await call("PUT", "/v1/models/summer", { window: { ms: 86_400_000 }, goals });
      await call("PUT", "/v1/models/summer/actions", { actions: [{ id: "boots" }, { id: "hats" }] });
      for (const args of [[], ["--of", "summer"], ["--of", "summer", "--days", "0.9"]]) {
        const { code, out, error } = await beside(["rehearse", "--url", url, ...args]);
        expect([code, error]).toEqual([0, ""]);
        expect(out).toMatch(/ saw (tent|boots) on .*: registered\.\n {2}The impression is pending\. The model expects 0\.00 /);
        expect(out).toMatch(/ later, 40 EUR: applied\.\n {2}The impression is converted, with a reward of 40\. The model expects [1-9]/);
        expect(out).toMatch(/refunded, 15 EUR: applied\.\n {2}The impression is converted, with a reward of 25\./);
        expect(out).toContain(`${url}#dashboard/rehearsal${args.length > 0 ? "-of-summer" : ""}/`);
      }
      const { counts } = (await (await call("GET", "/v1/models/summer")).json()) as { readonly counts: object };
      expect(counts).toMatchObject({ impressions: 0, converted: 0 });
      for (const [args, message] of [
        [["--of", "none"], "there is no such model"],
        [["--of", "summer", "--days", "2"], "--days: expected a number from 0 to 1, got 2"],
      ] as const) {
        expect(await beside(["rehearse", "--url", url, ...args])).toMatchObject({ code: 1, error: expect.stringContaining(message) });
      }
      for (const model of ["summer", "rehearsal", "rehearsal-of-summer"]) await call("DELETE", `/v1/models/${model}`);
    });

    it("export writes a log that verify verifies and evaluate evaluates", async () => {
      const windowMs = 1000;
      await call("PUT", "/v1/models/shop", { window: { ms: windowMs }, serving: "learner" });
      await call("PUT", "/v1/models/shop/actions", { actions: [{ id: "boots" }, { id: "hats" }] });
      for (let i = 0; i < 40; i++) expect((await call("POST", "/v1/models/shop/recommendations", {})).status).toBe(201);
      // Every window has closed at the end of the log.
      await setTimeout(windowMs + 1);
      const exported = await beside(["export", "--url", url, "--model", "shop", "--out", "events.jsonl"]);
      expect([exported.code, exported.out]).toEqual([0, expect.stringMatching(/^\d+ events of model shop in events\.jsonl\n$/)]);
      expect(await beside(["verify", "events.jsonl"])).toMatchObject({
        code: 0,
        out: expect.stringContaining("all verified\n  40 decisions"),
      });
      const evaluated = await beside(["evaluate", "events.jsonl", "--action", "boots"]);
      expect([evaluated.code, evaluated.out]).toEqual([
        0,
        expect.stringMatching(/\n +0% of the evaluated decisions may still convert[\s\S]*doubly robust/),
      ]);
      expect(await beside(["compare", "events.jsonl"])).toMatchObject({ code: 1, error: expect.stringContaining("lists of a holdout") });
      expect(await beside(["export", "--url", url, "--model", "none", "--out", "none.jsonl"])).toMatchObject({
        code: 1,
        error: expect.stringContaining("404"),
      });
      expect((await readdir(folder)).filter((name) => /none|part/.test(name))).toEqual([]);
    });
  });
});
