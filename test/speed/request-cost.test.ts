import { expect, it } from "vitest";
import { served, worstRequest } from "../property/worker/worst-request.ts";

const ROUNDS = 100;

it.each(served)("a request with a publishable key takes 50 ms of processor time: %s", (_, model) => {
  const { ms, what } = worstRequest(model, ROUNDS, "ms");
  expect(ms, what).toBeLessThan(50);
});
