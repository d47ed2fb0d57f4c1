import { expect, it } from "vitest";
import { served, worstRequest } from "./worst-request.ts";

it.each(served)("a request with a publishable key takes at most 2,000,000 products, or is refused: %s", (_, model) => {
  expect(worstRequest(model, 4, "steps").steps).toBeGreaterThan(0);
});
