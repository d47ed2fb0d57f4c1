import { tooFewText } from "afterclick/research";
import { expect, it } from "vitest";
import { counted } from "../../../cli/command/counted.ts";
import * as notation from "../../../pages/ui/notation.ts";

it.each([
  [0, "0 conversions"],
  [1, "1 conversion"],
  [2, "2 conversions"],
])("%d conversions are written as %s, by commands, pages and the SDK", (count, text) => {
  const missing = { more: count, of: "conversions whose window has closed" };
  const more = text.replace(" ", " more ");
  expect([counted(count, "conversion"), notation.counted(count, "conversion")]).toEqual([text, text]);
  expect(tooFewText({ tooFew: missing })).toBe(`too few, about ${more} whose window has closed`);
  expect(notation.few(missing)).toBe(`too few, about ${more} whose window has closed`);
});
