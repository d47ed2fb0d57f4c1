import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { type Item, nameOf, queueIn } from "../../../src/beacon/queue.ts";
import { closePage, openPage, page } from "./page.ts";

const HOUR_MS = 3_600_000;

beforeEach(openPage);
afterEach(closePage);

const item = (id: string, goal: string | null = null, at = Date.now()): Item => [id, goal, at];

it("keeps items in the storage of the origin, for all its tabs", () => {
  const [a, b] = [item("a"), item("b", "click")];
  queueIn("name").add([a]);
  queueIn("name").add([b]);
  expect(queueIn("name").all()).toEqual([a, b]);
  expect(queueIn("another").all()).toEqual([]);
  expect([...page.stored]).toEqual([["name", JSON.stringify([a, b])]]);
});

it("removes items by impression and goal, whenever they were noted", () => {
  const queue = queueIn("name");
  queue.add([item("a"), item("a", "click"), item("b")]);
  queue.remove([item("a", "click", 0), item("b", null, 0), item("c")]);
  expect(queue.all()).toEqual([item("a")]);
});

it.each([
  ["the last item is removed", (queue: ReturnType<typeof queueIn>) => queue.remove([item("a")])],
  ["it is cleared", (queue: ReturnType<typeof queueIn>) => queue.clear()],
])("leaves nothing in the storage once %s", (_, empty) => {
  const queue = queueIn("name");
  queue.add([item("a")]);
  empty(queue);
  expect(queue.all()).toEqual([]);
  expect(page.stored.size).toBe(0);
});

it("drops items of an hour ago, and of more than an hour ahead", () => {
  const queue = queueIn("name");
  const now = Date.now();
  const young = [item("a", null, now - HOUR_MS + 1), item("b", null, now + HOUR_MS - 1)];
  queue.add([item("old", null, now - HOUR_MS), ...young, item("ahead", null, now + HOUR_MS)]);
  expect(queue.all()).toEqual(young);
  vi.advanceTimersByTime(1);
  expect(queue.all()).not.toContainEqual(young[0]);
});

it("keeps the newest thousand", () => {
  const queue = queueIn("name");
  const items = Array.from({ length: 1003 }, (_, i) => item(`${i}`));
  queue.add(items.slice(0, 1000));
  expect(queue.all()).toEqual(items.slice(0, 1000));
  queue.add(items.slice(1000));
  expect(queue.all()).toEqual(items.slice(3));
});

it("waits in memory while the storage refuses, and returns to it", () => {
  const queue = queueIn("name");
  queue.add([item("a")]);
  page.storageIsFull = true;
  queue.add([item("b")]);
  expect(queue.all()).toEqual([item("a"), item("b")]);
  expect(queueIn("name").all()).toEqual([item("a")]);
  page.storageIsFull = false;
  queue.add([item("c")]);
  expect(queueIn("name").all()).toEqual([item("a"), item("b"), item("c")]);
});

it("is empty if the storage holds something else", () => {
  const queue = queueIn("name");
  for (const text of ["{", "{}", "null"]) {
    page.stored.set("name", text);
    expect(queue.all()).toEqual([]);
  }
  queue.add([item("a")]);
  expect(queue.all()).toEqual([item("a")]);
});

it("names an impression and each of its goals", () => {
  expect([item("a"), item("a", "click"), item("a", "purchase")].map(nameOf)).toEqual(["a ", "a click", "a purchase"]);
});
