import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { run } from "../../../../cli/deploy.ts";
import { ran } from "../../../support/ran.ts";

// The command line of `deploy`, before it calls wrangler.

const own = process.cwd();
let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "afterclick-deploy-"));
  process.chdir(folder);
});
afterEach(async () => {
  process.chdir(own);
  await rm(folder, { recursive: true });
});

it.each([
  [["--env", "test"], "--env: expected one of production, staging, got test"],
  [["--path", "recommender"], "--path: expected a path that begins with /, got recommender"],
  [["--path", "/a?b"], "--path: expected a path that begins with /, got /a?b"],
  [["--path", "/a#b"], "--path: expected a path that begins with /, got /a#b"],
  [["--path", "/a b"], "--path: expected a path that begins with /, got /a b"],
  [["--path", "/a*"], "--path: expected a path that begins with /, got /a*"],
])("refuses %j, and writes nothing", async (args, message) => {
  const { code, stdout, stderr } = await ran(run, ...args);
  expect([code, stdout, stderr.split("\n")[0]]).toEqual([1, "", message]);
  expect(stderr).toContain("\n\nDeploys the worker of wrangler.jsonc to Cloudflare.");
  expect(await readdir(folder)).toEqual([]);
});

it.each([[[]], [["--env", "staging", "--path", "/recommender"]], [["--dry-run", "--path", "/"]]])(
  "%j begins with a configuration, and names the packages that are missing",
  async (args) => {
    const { code, stdout, stderr } = await ran(run, ...args);
    expect([code, stdout]).toEqual([1, expect.stringMatching(/^Wrote two files, which are yours to change:/)]);
    expect(stderr).toMatch(/^This folder lacks packages: afterclick, hono, valibot, wrangler\. /);
    expect((await readdir(folder)).toSorted()).toEqual(["worker.js", "wrangler.jsonc"]);
  },
);

it("keeps a configuration that is there", async () => {
  await writeFile("wrangler.toml", "");
  expect((await ran(run)).stdout).toBe("");
  expect(await readdir(folder)).toEqual(["wrangler.toml"]);
});
