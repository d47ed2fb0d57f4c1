import { expect, it, vi } from "vitest";
import { onClick } from "../../../src/beacon/click.ts";
import { PageElement } from "./page.ts";

it.each<[string, { isLink: boolean; type: string; button: number }, counts: boolean]>([
  ["left button", { isLink: false, type: "click", button: 0 }, true],
  ["middle button on a link", { isLink: true, type: "auxclick", button: 1 }, true],
  ["middle button beside a link", { isLink: false, type: "auxclick", button: 1 }, false],
  ["right button on a link", { isLink: true, type: "auxclick", button: 2 }, false],
  ["press of a key", { isLink: false, type: "keydown", button: 0 }, false],
])("hears the %s, or not", (_, { isLink, type, button }, counts) => {
  const [target, clicked] = [new PageElement({ isLink }), vi.fn()];
  onClick(target, clicked);
  target.click(type, button);
  expect(clicked.mock.calls).toEqual(counts ? [[[target]]] : []);
});

it("passes over what is no element", () => {
  const [target, clicked] = [new EventTarget(), vi.fn()];
  onClick(target, clicked);
  target.dispatchEvent(Object.assign(new Event("auxclick"), { button: 1 }));
  expect(clicked).not.toHaveBeenCalled();
});

it("listens before the listeners inside the target, which may stop the event", () => {
  const target = new PageElement();
  const listened = vi.spyOn(target, "addEventListener");
  onClick(target, vi.fn());
  const capture = expect.objectContaining({ capture: true });
  expect(listened.mock.calls).toEqual([
    ["click", expect.anything(), capture],
    ["auxclick", expect.anything(), capture],
  ]);
});

it("stops listening", () => {
  const [target, clicked] = [new PageElement({ isLink: true }), vi.fn()];
  const stop = onClick(target, clicked);
  stop();
  target.click();
  target.click("auxclick", 1);
  expect(clicked).not.toHaveBeenCalled();
});
