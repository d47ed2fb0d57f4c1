import { describe, expect, it, vi } from "vitest";
import { Guide, SendVisitors } from "../../../../pages/shop/guide.tsx";
import { Impressions } from "../../../../pages/shop/impressions.tsx";
import type { Session } from "../../../../pages/shop/session.ts";
import { Shop } from "../../../../pages/shop/shop.tsx";
import type { Shown } from "../../../../pages/shop/shown.ts";
import { drawn } from "../../../support/markup.ts";

const NOW = Date.parse("2026-11-21T12:00:00Z");
const HOUR_MS = 3_600_000;

const shown = (impressionId: string, more: Partial<Shown> = {}): Shown => ({
  ...{ impressionId, product: "mug", profile: "sam", shownAt: NOW, windowEndsAt: NOW + 120_000, status: "pending" },
  ...more,
});

function sessionOf(more: Partial<Session> = {}) {
  const calls = { simulate: vi.fn(), startOver: vi.fn() };
  const empty = {
    profile: "aiko",
    delayMs: 0,
    shelf: [],
    shown: [],
    visits: [],
    visitorsLeft: 0,
    looks: 0,
    estimates: [],
    before: new Map(),
  };
  const session = { ...empty, problem: "", aheadMs: 0, recent: () => [], ...calls, ...more } as unknown as Session;
  return { session, calls };
}
const buttonsOf = ({ elements }: ReturnType<typeof drawn>) => elements.flatMap(({ tag, props }) => (tag === "button" ? [props] : []));
const press = (props: { readonly [name: string]: unknown }) => (props.onClick as () => void)();

describe("the button that sends visitors", () => {
  it("sends as many as it says", () => {
    const { session, calls } = sessionOf();
    const [button] = buttonsOf(drawn(SendVisitors, { session }));
    expect([button.children, button.disabled]).toEqual(["Send 200 visitors", false]);
    press(button);
    expect(calls.simulate.mock.calls).toEqual([[200]]);
  });

  it("counts those who are still to come, and sends no others meanwhile", () => {
    const [button] = buttonsOf(drawn(SendVisitors, sessionOf({ visitorsLeft: 1 })));
    expect([button.children, button.disabled]).toEqual(["1 visitor left", true]);
  });
});

describe("the guide", () => {
  it("says how long a window is and who the reader is, and links to the dashboard", () => {
    const { text, elements } = drawn(Guide, sessionOf());
    expect(text).toContain("wait until its window of 2 minutes has closed");
    expect(text).toContain("Press Buy as Aiko.");
    expect(elements.flatMap(({ tag, props }) => (tag === "a" ? [props.href] : []))).toEqual(["/#dashboard"]);
  });

  it("announces where the story stands", () => {
    const { elements } = drawn(Guide, sessionOf({ visitorsLeft: 3 }));
    const [status] = elements.filter(({ props }) => props.role === "status");
    expect(status.props.children).toBe("Visitors are coming.");
  });

  it("starts over when asked to, but not while visitors are coming", () => {
    const { session, calls } = sessionOf();
    const [, button] = buttonsOf(drawn(Guide, { session }));
    expect([button.children, button.disabled]).toEqual(["Start over", false]);
    press(button);
    expect(calls.startOver).toHaveBeenCalledOnce();
    expect(buttonsOf(drawn(Guide, sessionOf({ visitorsLeft: 1 })))[1].disabled).toBe(true);
  });
});

describe("the impressions", () => {
  const all = [shown("i-1", { status: "expired" }), shown("i-2", { status: "bought", reportAt: NOW + 5000 }), shown("i-3")];
  const { session } = sessionOf({ shown: all, recent: () => [all[2], all[1]] });
  const { text, elements } = drawn(Impressions, { session, now: NOW });

  it("are a strip of marks, oldest first, and then the recent ones as they are given", () => {
    const marks = elements.flatMap(({ tag, props }) => (tag === "i" ? [props["data-status"]] : []));
    expect(marks).toEqual(["expired", "bought", "pending", "pending", "bought"]);
  });

  it("of late are listed with product, visitor and story", () => {
    expect(text).toMatch(/Enamel mug for Sam ?pending, 2:00 left Enamel mug for Sam ?bought, webhook in 0:05$/);
    const items = elements.flatMap(({ tag, props }) => (tag === "li" ? [props["data-status"]] : []));
    expect(items).toEqual(["pending", "bought"]);
  });
});

describe("the shop", () => {
  const announced = (more: Partial<Session>) =>
    drawn(Shop, { ...sessionOf(more), now: NOW }).elements.flatMap(({ props }) => (props.role === "status" ? [props.children] : []))[0];

  it("has everything on one page", () => {
    const { text } = drawn(Shop, { ...sessionOf(), now: NOW });
    expect(text).toMatch(
      /It learns before the answers are in .* favourite shown first .* Recommended for Aiko .* How likely Aiko buys .* Every product shown is an impression .* publishable key/,
    );
  });

  it("announces a problem, or else a clock that is off", () => {
    expect(announced({})).toBe("");
    expect(announced({ aheadMs: HOUR_MS })).toMatch(/^This device's clock is 1 h ahead/);
    expect(announced({ aheadMs: HOUR_MS, problem: "The worker does not answer." })).toBe("The worker does not answer.");
  });
});
