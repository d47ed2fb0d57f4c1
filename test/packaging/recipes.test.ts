import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { copied, follow } from "./followed-section.ts";
import { run } from "./installation.ts";

// The recipes of CONTRIBUTING.md, one after the other in one copy of the repository.

let folder: string;
beforeAll(async () => {
  folder = await copied();
});
afterAll(() => rm(folder, { recursive: true, force: true }));

it("Add a policy: passes the check that the text names, and is formatted", async () => {
  const { files, printed, results } = await follow("Add a policy", folder);
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
  run(folder, "tsc", ["-p", ".", "--singleThreaded"]);
});

it("Add a route: passes the check that the text names, is formatted, and is described", async () => {
  const { files, printed, results } = await follow("Add a route", folder);
  const [route, app, operations] = ["worker/edge/routes/options.ts", "worker/edge/app.ts", "worker/openapi/operations.ts"];
  expect(files).toEqual([route, app, operations, "test/support/routes.ts", "docs/api.md"]);
  expect(printed).toMatch(/\b[1-9]\d+ passed, 0 failed/);
  const passed = results.flatMap(({ assertionResults }) => assertionResults).filter(({ status }) => status === "passed");
  expect(passed.filter(({ fullName }) => fullName.includes("GET /v1/options")).length).toBeGreaterThan(6);
  const { paths, components } = JSON.parse(await readFile(join(folder, "build/openapi.json"), "utf8"));
  expect(paths["/v1/options"].get.operationId).toBe("listOptions");
  expect(components.schemas.Options.required).toEqual(["options"]);
});

it("Add a figure: passes the check that the text names, is formatted, and is documented", async () => {
  const { files, printed, results } = await follow("Add a figure", folder);
  expect(files).toEqual(["worker/protocol/counted.ts"]);
  expect(printed).toMatch(/\b[1-9]\d+ passed, 0 failed/);
  const passed = results.flatMap(({ assertionResults }) => assertionResults).filter(({ status }) => status === "passed");
  expect(passed.filter(({ fullName }) => fullName.startsWith("quick ")).length).toBe(1);
  expect(await readFile(join(folder, "build/openapi.json"), "utf8")).toContain("Impressions that have converted within an hour.");
});

// Its check compiles the figure too.
it("Add an option of a model: passes the check that the text names, is formatted, and is documented", async () => {
  const { files, printed, results } = await follow("Add an option of a model", folder);
  expect(files).toEqual(["worker/protocol/model-options.ts", "test/unit/worker/model-options.test.ts"]);
  expect(printed).toMatch(/\b[1-9]\d+ passed, 0 failed/);
  const passed = results.flatMap(({ assertionResults }) => assertionResults).filter(({ status }) => status === "passed");
  expect(passed.filter(({ fullName }) => fullName.startsWith("owner ")).length).toBeGreaterThan(2);
  expect(await readFile(join(folder, "docs/api.md"), "utf8")).toMatch(/^\| `owner` \| `null` \| nothing \|/m);
});
