import { describe, expect, it, vi } from "vitest";
import type { Session } from "../../../../pages/shop/session.ts";
import { Shelf } from "../../../../pages/shop/shelf.tsx";
import type { Shown } from "../../../../pages/shop/shown.ts";
import { Icon } from "../../../../pages/ui/icon.tsx";
import { products } from "../../../../src/simulation/assortment.ts";
import { drawn } from "../../../support/markup.ts";

const NOW = Date.parse("2026-11-21T12:00:00Z");

const mug: Shown = {
  ...{ impressionId: "i-1", product: "mug", profile: "jonas", shownAt: NOW, windowEndsAt: NOW + 120_000, status: "pending" },
};

function shelfOf(shelf: readonly Shown[], more: Partial<Session> = {}) {
  const calls = { choose: vi.fn(), chooseDelay: vi.fn(), visit: vi.fn(), buy: vi.fn(), giveBack: vi.fn() };
  const session = { profile: "jonas", delayMs: 10_000, shelf, ...calls, ...more } as unknown as Session;
  const { elements, text } = drawn(Shelf, { session, now: NOW });
  const radios = (name: string) => elements.flatMap(({ tag, props }) => (tag === "input" && props.name === name ? [props] : []));
  const buttons = elements.flatMap(({ tag, props }) => (tag === "button" ? [props] : []));
  const cards = elements.flatMap(({ tag, props }) => (tag === "li" ? [props] : []));
  return { calls, elements, text, radios, buttons, cards };
}
const press = (props: { readonly [name: string]: unknown }, event: "onClick" | "onChange" = "onClick") => (props[event] as () => void)();

describe("the shelf", () => {
  it("names the visitor, and each product with its price and its story, best first", () => {
    const tent: Shown = { ...mug, impressionId: "i-2", product: "tent", status: "expired" };
    expect(shelfOf([mug, tent]).text).toContain(
      "Recommended for Jonas Next visit Enamel mug €14 Buy pending, 2:00 left Trail tent €189 Expired expired without a purchase",
    );
  });

  it("marks each product with its status and its kind", () => {
    const { cards } = shelfOf([mug, { ...mug, product: "lamp", status: "converted" }]);
    expect(cards.map((props) => [props["data-status"], props.class])).toEqual([
      ["pending", "card outdoors"],
      ["converted", "card home"],
    ]);
  });

  it.each([
    [{ status: "pending" }, "Buy", false],
    [{ status: "bought", own: true }, "Bought", true],
    [{ status: "bought" }, "A visitor bought it", true],
    [{ status: "converted", own: true }, "Return", false],
    [{ status: "converted" }, "A visitor bought it", true],
    [{ status: "returned", own: true }, "Returned", true],
    [{ status: "expired" }, "Expired", true],
    [{ status: "late", own: true }, "Too late", true],
    [{ status: "refused", own: true }, "Refused", true],
  ] as const)("has for a product with %j a button that says “%s”; disabled is %s", (more, label, disabled) => {
    const { buttons } = shelfOf([{ ...mug, ...more }]);
    const [, button] = buttons;
    expect([button.children, button["aria-label"], Boolean(button.disabled)]).toEqual([label, `${label}: Enamel mug`, disabled]);
  });

  it("buys a pending product, and returns an own one whose purchase was reported", () => {
    const own: Shown = { ...mug, impressionId: "i-2", status: "converted", own: true };
    const { buttons, calls } = shelfOf([mug, own]);
    press(buttons[1]);
    expect([calls.buy.mock.calls, calls.giveBack.mock.calls]).toEqual([[[mug]], []]);
    press(buttons[2]);
    expect([calls.buy.mock.calls, calls.giveBack.mock.calls]).toEqual([[[mug]], [[own]]]);
  });

  it("has a button for the next visit", () => {
    const { buttons, calls } = shelfOf([]);
    press(buttons[0]);
    expect(calls.visit).toHaveBeenCalledOnce();
  });

  it("lets the reader choose the visitor", () => {
    const { radios, calls, text } = shelfOf([]);
    expect(text).toMatch(/^You are Mira Jonas Aiko Sam Recommended/);
    expect(radios("profile").map(({ checked }) => checked)).toEqual([false, true, false, false]);
    for (const radio of radios("profile")) press(radio, "onChange");
    expect(calls.choose.mock.calls).toEqual([["mira"], ["jonas"], ["aiko"], ["sam"]]);
  });

  it("lets the reader choose when purchases are reported", () => {
    const { radios, calls, text } = shelfOf([], { delayMs: 60_000 });
    expect(text).toMatch(/Your purchases are reported at once in 10 s in 1 min$/);
    expect(radios("delay").map(({ checked }) => checked)).toEqual([false, false, true]);
    for (const radio of radios("delay")) press(radio, "onChange");
    expect(calls.chooseDelay.mock.calls).toEqual([[0], [10_000], [60_000]]);
  });

  it("has a drawing of its own for every product, which screen readers skip", () => {
    const drawings = products.map(({ id }) => drawn(Icon, { name: id }).elements);
    expect(new Set(drawings.map(([, path]) => path.props.d)).size).toBe(products.length);
    for (const [svg, path] of drawings) {
      expect(svg.props["aria-hidden"]).toBe("true");
      expect(path.props.d).toMatch(/^M\d/);
    }
  });
});
