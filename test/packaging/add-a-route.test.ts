import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { follow } from "./followed-section.ts";

it("passes the check that the text names, is formatted, and is described", async () => {
  const { folder, files, printed, results } = await follow("Add a route");
  const [route, app, operations] = ["worker/edge/routes/options.ts", "worker/edge/app.ts", "worker/openapi/operations.ts"];
  expect(files).toEqual([route, app, operations, "test/support/routes.ts", "docs/api.md"]);
  expect(printed).toMatch(/\b[1-9]\d+ passed, 0 failed/);
  const passed = results.flatMap(({ assertionResults }) => assertionResults).filter(({ status }) => status === "passed");
  expect(passed.filter(({ fullName }) => fullName.includes("GET /v1/options")).length).toBeGreaterThan(6);
  const { paths, components } = JSON.parse(await readFile(join(folder, "build/openapi.json"), "utf8"));
  expect(paths["/v1/options"].get.operationId).toBe("listOptions");
  expect(components.schemas.Options.required).toEqual(["options"]);
});
