import { expect, it } from "vitest";
import { served, worstRequest } from "./worst-request.ts";

it.each(served)("a request with a publishable key takes few counted steps, or is refused: %s", (_, model) => {
  expect(worstRequest(model, 4, "steps").steps).toBeGreaterThan(0);
});
