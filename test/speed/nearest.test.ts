import { expect, it } from "vitest";
import { nearest } from "../../worker/protocol/nearest.ts";

it("the nearest of 1,000 names is found in 50 ms of processor time", () => {
  const many = Array.from({ length: 1000 }, (_, n) => `${n}`.padEnd(32, "ab"));
  const before = process.cpuUsage();
  nearest("ba".repeat(16), many);
  expect(process.cpuUsage(before).user / 1000).toBeLessThan(50);
});
