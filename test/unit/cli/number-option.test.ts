import { expect, it } from "vitest";
import { numberIn } from "../../../cli/command.ts";

it.each(["0.5", ".5", "5e-1", "+0.50"])("an option takes %j as a number", (text) => {
  expect(numberIn("--split", text, 0, 1)).toBe(0.5);
});

it.each(["", " ", "0x1", "0b1", "Infinity", "1,0", "1e", "NaN", " 1"])("an option refuses %j by name", (text) => {
  expect(() => numberIn("--split", text, 0, 1)).toThrow(/--split: expected a number from 0 to 1, got/);
});
