import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Monitor } from "../../../../pages/dashboard/monitor.ts";
import type { Source } from "../../../../pages/dashboard/source.ts";
import { Refusal } from "../../../../pages/ui/call.ts";

let models: { model: string }[];
let lists: number;

const source = {
  models: async () => {
    lists++;
    return models;
  },
  metrics: async (model: string) => {
    if (!models.some((each) => each.model === model)) throw new Refusal(404, "there is no such model");
    return model;
  },
} as unknown as Source;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  const page = Object.assign(new EventTarget(), { hidden: false });
  vi.stubGlobal("document", page);
  for (const name of ["addEventListener", "removeEventListener"] as const) vi.stubGlobal(name, page[name].bind(page));
  [models, lists] = [[{ model: "shop" }, { model: "blog" }], 0];
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

it("a first model that was deleted is named, and the next read shows the first of a new list", async () => {
  const monitor = new Monitor(source, () => {});
  monitor.start();
  await vi.advanceTimersByTimeAsync(0);
  expect([monitor.metrics, lists]).toEqual(["shop", 1]);
  models = [{ model: "blog" }];
  await vi.advanceTimersByTimeAsync(2000);
  expect([monitor.metrics, monitor.name]).toEqual([null, "shop"]);
  await vi.advanceTimersByTimeAsync(2000);
  expect([monitor.metrics, monitor.name, lists]).toEqual(["blog", "blog", 2]);
  await vi.advanceTimersByTimeAsync(2000);
  expect(lists).toBe(2);
});
