import { expect, it } from "vitest";
import { numberIn, timeIn, UsageError } from "../../../cli/command.ts";

it.each(["0.5", ".5", "5e-1", "+0.50"])("an option takes %j as a number", (text) => {
  expect(numberIn("--split", text, 0, 1)).toBe(0.5);
});

it.each(["", " ", "0x1", "0b1", "Infinity", "1,0", "1e", "NaN", " 1"])("an option refuses %j by name", (text) => {
  expect(() => numberIn("--split", text, 0, 1)).toThrow(/--split: expected a number from 0 to 1, got/);
});

it.each(["1790500000000", "2026-09-27T09:06:40Z", "2026-09-27 11:06:40+02"])("an option takes %j as a time", (text) => {
  expect(timeIn("--as-of", text)).toBe(1_790_500_000_000);
});

it.each([
  ["1790500000", "which are seconds: multiply by 1000"],
  ["99999999999999999999", "which is too large"],
  ["2026-09-27T09:06:40", "which has no zone: add Z for UTC"],
  ["Sept 30", 'got "Sept 30"'],
  ["2026-09-27", 'got "2026-09-27"'],
  ["", 'got ""'],
])("an option refuses %j as a time", (text, message) => {
  const refused = () => timeIn("--as-of", text);
  expect(refused).toThrow(UsageError);
  expect(refused).toThrow(/^--as-of: expected milliseconds since 1970, or ISO 8601 with a zone such as 2026-01-31T12:00:00Z, got /);
  expect(refused).toThrow(message);
});
