import { expect, it } from "vitest";
import { formatTime } from "../../../cli/command/progress.ts";

it.each([
  [Number.POSITIVE_INFINITY, "unknown time"],
  ["INF", "unknown time"],
  ["NULL", "unknown time"],
  [65, " 1m 5s"],
])("a rest of %s is shown as %s", (seconds, shown) => {
  expect(formatTime(seconds as number, { autopaddingChar: " " }, 5)).toBe(shown);
});
