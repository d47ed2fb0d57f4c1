import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { follow } from "./followed-section.ts";

it("passes the check that the text names, is formatted, and is documented", async () => {
  const { folder, files, printed, results } = await follow("Add an option of a model");
  expect(files).toEqual(["worker/protocol/model-options.ts", "test/unit/worker/model-options.test.ts"]);
  expect(printed).toMatch(/\b[1-9]\d+ passed, 0 failed/);
  const passed = results.flatMap(({ assertionResults }) => assertionResults).filter(({ status }) => status === "passed");
  expect(passed.filter(({ fullName }) => fullName.startsWith("owner ")).length).toBeGreaterThan(2);
  expect(await readFile(join(folder, "docs/api.md"), "utf8")).toMatch(/^\| `owner` \| `null` \| nothing \|/m);
});
