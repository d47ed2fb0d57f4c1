import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Clock } from "../../../src/local/clock.ts";

const NOW = Date.parse("2026-11-21T12:00:00Z");

beforeEach(() => void vi.useFakeTimers({ now: NOW, toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

it("goes with the device's clock, and stands still while that is set back", () => {
  const clock = new Clock();
  expect(clock.now()).toBe(NOW);
  vi.setSystemTime(NOW - 5000);
  expect(clock.now()).toBe(NOW);
  vi.setSystemTime(NOW + 1);
  expect(clock.now()).toBe(NOW + 1);
});

it("follows a server's time from then on, even back", () => {
  const clock = new Clock();
  clock.now();
  clock.correct(NOW - 3000);
  expect(clock.now()).toBe(NOW - 3000);
  vi.setSystemTime(NOW + 5000);
  expect(clock.now()).toBe(NOW + 2000);
  clock.correct(NOW + 60_000);
  expect(clock.now()).toBe(NOW + 60_000);
});

it("is never before a time that has passed already", () => {
  const clock = new Clock();
  clock.passed(NOW + 10);
  clock.passed(NOW - 10);
  expect(clock.now()).toBe(NOW + 10);
  vi.setSystemTime(NOW + 20);
  expect(clock.now()).toBe(NOW + 20);
});
