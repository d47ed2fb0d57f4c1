import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";

// `node --expose-gc test/property/worker/body-heap.ts 1 0` reads all of the bodies, in minutes.

it("no body takes more than 40 MB of heap to read, and a heap of 64 MB is enough", async () => {
  const heap = ["--expose-gc", "--max-old-space-size=64", "--max-semi-space-size=2"];
  const { stdout } = await promisify(execFile)(process.execPath, [...heap, "test/property/worker/body-heap.ts", "53", "16"]);
  const { tried, bytes, name } = JSON.parse(stdout);
  expect(tried).toBeGreaterThan(20);
  expect(bytes, name).toBeLessThan(40e6);
});
