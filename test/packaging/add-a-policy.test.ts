import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { follow } from "./followed-section.ts";
import { run } from "./installation.ts";

it("passes the check that the text names, and is formatted", async () => {
  const { folder, files, printed, results } = await follow("Add a policy");
  expect(files.length).toBe(5);
  expect(printed).toMatch(/\b[1-9]\d+ passed, 0 failed/);
  expect(printed).toContain("test/conformance/policy.test.ts");
  // The conformance tests play the policy, because it is listed.
  const played = results
    .filter(({ name }) => name.includes("/test/conformance/"))
    .flatMap(({ assertionResults }) => assertionResults)
    .filter(({ fullName, status }) => status === "passed" && fullName.includes("ridge-ucb"));
  expect(played.length).toBeGreaterThan(15);
  expect(await readFile(join(folder, "docs/choosing.md"), "utf8")).toContain(
    "| `ridgeUcb` | `ridge-ucb` | Li, Chu, Langford, Schapire, WWW 2010,",
  );
  run(folder, "tsc", ["--noEmit", "-p", "."]);
});
