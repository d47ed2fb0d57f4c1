import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { visibility } from "../../../src/beacon/visibility.ts";
import { closePage, type Look, openPage, PageElement, page } from "./page.ts";

beforeEach(openPage);
afterEach(closePage);

const visible = { share: 0.5 };
const element = () => new PageElement() as EventTarget as Element;
/** Passes a second, at whose end and not before the element is seen. */
function expectSeenAfterSecond(seen: ReturnType<typeof vi.fn>) {
  vi.advanceTimersByTime(999);
  expect(seen).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(seen).toHaveBeenCalledOnce();
}
function watched() {
  const view = visibility();
  const [seen, target] = [vi.fn(), element()];
  view.start();
  return { view, seen, target, unwatch: view.watch(target, seen) };
}

it.each<[string, Look, seen: boolean]>([
  ["half of it", { share: 0.5 }, true],
  ["less than half of it", { share: 0.49 }, false],
  ["half of the window", { share: 0.1, heightPx: 500, windowPx: 1000 }, true],
  ["less than half of the window", { share: 0.1, heightPx: 499, windowPx: 1000 }, false],
  ["half of itself in a frame of another origin", { share: 0.5, windowPx: null }, true],
  ["less in a frame of another origin", { share: 0.1, heightPx: 500, windowPx: null }, false],
])("sees an element that shows %s for a second", (_, look, isSeen) => {
  const { seen, target } = watched();
  page.show(target, look);
  vi.advanceTimersByTime(999);
  expect(seen).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(seen).toHaveBeenCalledTimes(Number(isSeen));
});

it("lets the browser look again at each tenth of an element", () => {
  watched();
  expect(page.observer?.options).toEqual({ threshold: [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1] });
});

it("counts the second from when the element came, also if it shows more of itself since", () => {
  const { seen, target } = watched();
  page.show(target, visible);
  vi.advanceTimersByTime(600);
  page.show(target, { share: 1 });
  vi.advanceTimersByTime(400);
  expect(seen).toHaveBeenCalledOnce();
});

it("begins a new second after the element was gone", () => {
  const { seen, target } = watched();
  page.show(target, visible);
  vi.advanceTimersByTime(600);
  page.show(target, { share: 0 });
  vi.advanceTimersByTime(600);
  page.show(target, visible);
  expectSeenAfterSecond(seen);
});

it("sees an element once, and no longer observes it", () => {
  const { view, seen, target } = watched();
  page.show(target, visible);
  vi.advanceTimersByTime(1000);
  expect(page.observed.length).toBe(0);
  view.stop();
  view.start();
  expect(page.observed.length).toBe(0);
  expect(seen).toHaveBeenCalledOnce();
});

it("observes nothing before the start, then what is watched already and what comes later", () => {
  const view = visibility();
  const [a, b] = [element(), element()];
  view.watch(a, vi.fn());
  expect(page.observers).toEqual([]);
  view.start();
  view.watch(b, vi.fn());
  expect(page.observed).toEqual([a, b]);
  view.start();
  expect(page.observers.length).toBe(1);
});

it("sees nothing while it is stopped, and begins a new second at the next start", () => {
  const { view, seen, target } = watched();
  page.show(target, visible);
  vi.advanceTimersByTime(600);
  const [first] = page.observers;
  view.stop();
  expect([first.watched.size, vi.getTimerCount()]).toEqual([0, 0]);
  view.watch(element(), vi.fn());
  expect(first.watched.size).toBe(0);
  view.start();
  page.show(target, visible);
  expectSeenAfterSecond(seen);
});

it("may stop before it has started", () => {
  const view = visibility();
  view.watch(element(), vi.fn())();
  view.stop();
  expect(page.observers).toEqual([]);
});

it("forgets an element that is no longer watched", () => {
  const { seen, target, unwatch } = watched();
  page.show(target, visible);
  unwatch();
  expect([page.observed.length, vi.getTimerCount()]).toEqual([0, 0]);
  // The browser may have looked before.
  page.observer?.look([{ target, intersectionRatio: 1, intersectionRect: { height: 0 }, rootBounds: null }]);
  expect(vi.getTimerCount()).toBe(0);
  expect(seen).not.toHaveBeenCalled();
});

it("watches an element for its last impression alone", () => {
  const { view, seen, target, unwatch } = watched();
  const next = vi.fn();
  page.show(target, visible);
  vi.advanceTimersByTime(600);
  view.watch(target, next);
  unwatch();
  expect(page.observed).toEqual([target]);
  page.show(target, visible);
  vi.advanceTimersByTime(1000);
  expect([seen.mock.calls.length, next.mock.calls.length]).toEqual([0, 1]);
});
