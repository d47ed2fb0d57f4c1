import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { DeployError } from "../../../cli/deploy/deployment.ts";
import { configFileIn, start } from "../../../cli/deploy/starter.ts";
import { installedWrangler } from "../../../cli/deploy/wrangler.ts";

// The first deployment from a folder of one's own.

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "afterclick-starter-"));
});
afterEach(() => rm(folder, { recursive: true }));

const read = (name: string) => readFile(join(folder, name), "utf8");

it("writes a configuration and the worker's module", async () => {
  const printed: string[] = [];
  expect(await start(folder, (line) => void printed.push(line))).toBe(join(folder, "wrangler.jsonc"));
  expect((await readdir(folder)).toSorted()).toEqual(["worker.js", "wrangler.jsonc"]);
  expect(await read("worker.js")).toContain('export { handler as default, Learner } from "afterclick/worker";\n');
  const config = await read("wrangler.jsonc");
  expect(config).toContain('"main": "worker.js"');
  expect(config).toContain("https://github.com/afterclick/afterclick/blob/main/docs/deploy.md explains each");
  expect(printed.join("\n")).toMatch(/^Wrote two files, which are yours to change:/);
});

it("goes on with its own module, and keeps another one", async () => {
  await start(folder, () => {});
  await rm(join(folder, "wrangler.jsonc"));
  await start(folder, () => {});
  await rm(join(folder, "wrangler.jsonc"));
  await writeFile(join(folder, "worker.js"), "export default {};\n");
  const error = await start(folder, () => {}).catch((caught) => caught);
  expect(error).toBeInstanceOf(DeployError);
  expect(error.message).toContain("worker.js is another module. Run the command in an empty folder");
  expect(await readdir(folder)).toEqual(["worker.js"]);
  expect(await read("worker.js")).toBe("export default {};\n");
});

it("finds a configuration by wrangler's names, in wrangler's order", async () => {
  expect(configFileIn(folder)).toBeUndefined();
  for (const name of ["wrangler.toml", "wrangler.jsonc", "wrangler.json"]) {
    await writeFile(join(folder, name), "");
    expect(configFileIn(folder)).toBe(join(folder, name));
  }
});

/** Puts packages without content into the folder. */
async function install(...names: string[]): Promise<void> {
  for (const name of names) {
    await mkdir(join(folder, "node_modules", name), { recursive: true });
    await writeFile(
      join(folder, "node_modules", name, "index.js"),
      "exports.experimental_readRawConfig = ({ config }) => ({ rawConfig: { name: config } });",
    );
  }
}

it("names the packages that a folder lacks, and how to install them", async () => {
  const refusal = async () => (await installedWrangler(folder).catch((error) => error)).message;
  expect(await refusal()).toBe(
    "This folder lacks packages: afterclick, hono, valibot, wrangler. Install them, then run the command again:\n\n" +
      "  npm install afterclick hono valibot\n  npm install --save-dev wrangler\n",
  );
  await install("afterclick", "valibot");
  expect(await refusal()).toContain("  npm install hono\n  npm install --save-dev wrangler\n");
  await install("hono");
  expect(await refusal()).toBe(
    "This folder lacks packages: wrangler. Install them, then run the command again:\n\n  npm install --save-dev wrangler\n",
  );
});

it("asks for no wrangler where there is one, and reads the configuration with it", async () => {
  await install("wrangler", "afterclick", "valibot");
  await expect(installedWrangler(folder)).rejects.toThrow(
    new DeployError("This folder lacks packages: hono. Install them, then run the command again:\n\n  npm install hono\n"),
  );
  await install("hono");
  const { path, readConfig } = await installedWrangler(folder);
  expect(path).toMatch(/node_modules\/wrangler\/index\.js$/);
  expect(readConfig("wrangler.jsonc")).toEqual({ name: "wrangler.jsonc" });
});
