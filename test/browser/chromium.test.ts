import { expect, it } from "vitest";
import { hasChromium } from "../support/chromium.ts";

const MISSING = "chromium is not installed, so no page was tested (Debian: apt-get install chromium)";
const required = process.env.REQUIRE_CHROMIUM === "1" || (process.env.CI ?? "") !== "";

it("chromium is there, for the tests of pages", ({ skip }) => {
  if (!hasChromium && !required) skip(MISSING);
  expect(hasChromium, MISSING).toBe(true);
});
