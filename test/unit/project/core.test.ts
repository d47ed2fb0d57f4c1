import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { expect, it } from "vitest";

it("the core's own tests pass", async () => {
  const { scripts } = JSON.parse(await readFile("package.json", "utf8"));
  const [asp, ...args] = scripts["test:core"].split(" ");
  expect(asp).toBe("asp");
  const { stdout } = await promisify(execFile)(process.execPath, ["node_modules/@as-pect/cli/bin/asp.js", ...args]);
  expect(stdout).toMatch(/\[Result\]: .*Pass!/);
});
