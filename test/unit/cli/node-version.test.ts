import { spawnSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { transform } from "esbuild";
import { expect, it } from "vitest";

const SCRIPT = "./cli/node-version.cjs";

function checkOn(version: string) {
  const code = `Object.defineProperty(process.versions, "node", { value: "${version}" }); require("${SCRIPT}");`;
  const { status, stdout, stderr } = spawnSync(process.execPath, ["-e", code], { encoding: "utf8" });
  return { status, stdout, stderr };
}

it.each(["8.17.0", "20.20.2", "22.17.9"])("refuses Node %s in one line that says what to do", (version) => {
  const message = `afterclick: expected Node 22.18 or newer, got ${version}; install it from https://nodejs.org and try again.\n`;
  expect(checkOn(version)).toEqual({ status: 1, stdout: "", stderr: message });
});

it.each(["22.18.0", "23.0.0", "24.21.0"])("accepts Node %s in silence", (version) => {
  expect(checkOn(version)).toEqual({ status: 0, stdout: "", stderr: "" });
});

it("is written so that an old Node can parse it", async () => {
  await transform(await readFile(SCRIPT, "utf8"), { target: "es5", supported: { "template-literal": false, arrow: false } });
  await expect(transform("const a = 1;", { target: "es5" })).rejects.toThrow();
});
