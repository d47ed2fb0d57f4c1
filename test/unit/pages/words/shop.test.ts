import { expect, it, vi } from "vitest";
import type { ProductEvidence } from "../../../../pages/shop/api.ts";
import { Estimates } from "../../../../pages/shop/estimates.tsx";
import { Guide } from "../../../../pages/shop/guide.tsx";
import { Impressions } from "../../../../pages/shop/impressions.tsx";
import { Progress } from "../../../../pages/shop/progress.tsx";
import type { Session } from "../../../../pages/shop/session.ts";
import { Shelf } from "../../../../pages/shop/shelf.tsx";
import { Shop } from "../../../../pages/shop/shop.tsx";
import type { Shown } from "../../../../pages/shop/shown.ts";
import { Icon } from "../../../../pages/ui/icon.tsx";
import { products } from "../../../../src/simulation/assortment.ts";
import { drawn } from "../../../support/markup.ts";
import { type State, saysAsWritten } from "./state.ts";

const NOW = Date.parse("2026-11-21T12:00:00Z");

const shown = (impressionId: string, more: Partial<Shown> = {}): Shown => ({
  ...{ impressionId, product: "mug", profile: "sam", shownAt: NOW, windowEndsAt: NOW + 120_000, status: "pending" },
  ...more,
});
const empty = {
  ...{ profile: "aiko", delayMs: 10_000, shelf: [], shown: [], visits: [], visitorsLeft: 0, looks: 0, estimates: [], before: new Map() },
  ...{ problem: "", aheadMs: 0, recent: () => [] },
};
const of = (more: object) => ({ session: { ...empty, ...more } as unknown as Session, now: NOW });
const all = (states: Readonly<Record<string, object>>) =>
  Object.fromEntries(Object.entries(states).map(([name, more]) => [name, of(more)]));

function estimates(): State {
  const evidence = (id: string, mean: number, impressions = 0): ProductEvidence => ({
    ...{ id, belief: { mean }, closed: { impressions, converted: Math.min(1, impressions) } },
  });
  const before = (mug: number) => ({ profile: "mira", estimates: [evidence("mug", 0.5)], before: new Map([["mug", mug]]) });
  const tent = evidence("tent", 0.314, 10);
  const others = all({
    "of nothing": { profile: "mira" },
    "after one closed window": { profile: "mira", estimates: [evidence("mug", 0.5, 1)] },
    "after many": { profile: "mira", estimates: [evidence("tent", 0.5, 1200), evidence("mug", 0.5, 34)] },
    "that have risen": before(0.25),
    "that have fallen": before(0.625),
    "that have changed by less than a point": before(0.499),
  });
  return { component: Estimates, usual: of({ profile: "mira", estimates: [tent, evidence("mug", 0.5)] }), others };
}

function progress(): State {
  const visits = (...runs: [times: number, favourite: boolean][]) =>
    runs.flatMap(([times, favourite]) => Array(times).fill({ favourite, model: 0, uniform: 0 }));
  const runs = Array.from({ length: 14 }, (_, run) => visits([run, true], [25 - run, false]));
  const others = all({
    "before the worker has answered": {},
    "with fewer than fifty visits": { visits: visits([1, true], [2, false]) },
    "with an unfinished run": { visits: visits([5, true], [20, false], [25, true], [1, true], [1, false]) },
    "with many runs": { visits: runs.flat() },
  });
  const counts = { impressions: 1234, pending: 5, converted: 6, expired: 7 };
  return { component: Progress, usual: of({ counts, visits: visits([10, true], [33, false], [17, true]) }), others };
}

function shelves(): State {
  const own = { own: true };
  const shelf = [
    shown("i-1"),
    shown("i-2", { product: "lamp", status: "bought", reportAt: NOW + 5000 }),
    shown("i-3", { status: "bought", ...own }),
    shown("i-4", { status: "converted", settledAt: NOW + 61_000 }),
    shown("i-5", { status: "converted", settledAt: NOW, ...own }),
    shown("i-6", { status: "converted", settledAt: NOW, windowEndsAt: NOW - 1, ...own }),
    ...(["returned", "expired", "late", "refused"] as const).map((status) => shown(status, { status, ...own })),
  ];
  return { component: Shelf, usual: of({ shelf }), others: all({ "of another visitor": { profile: "jonas", delayMs: 60_000 } }) };
}

function impressions(): State {
  const some = [shown("i-1", { status: "expired" }), shown("i-2", { status: "bought", reportAt: NOW + 5000 }), shown("i-3")];
  return { component: Impressions, usual: of({ shown: some, recent: () => [some[2], some[1]] }) };
}

saysAsWritten("shop", () => ({
  "the guide": { component: Guide, usual: of({}), others: all({ "while visitors come": { visitorsLeft: 1 } }) },
  "the counts": progress(),
  "the shelf": shelves(),
  "the estimates": estimates(),
  "the impressions": impressions(),
}));

it("what a reader presses in the shop is done", () => {
  const names = ["simulate", "startOver", "choose", "chooseDelay", "visit", "buy", "giveBack"] as const;
  const calls = Object.fromEntries(names.map((name) => [name, vi.fn()]));
  const [mug, own] = [shown("i-1"), shown("i-2", { status: "converted", own: true })];
  const { elements } = drawn(Shop, of({ shelf: [mug, own], ...calls }));
  for (const { props } of elements) for (const press of [props.onClick, props.onChange]) (press as (() => void) | undefined)?.();
  expect(names.map((name) => calls[name].mock.calls.flat())).toEqual([
    [200],
    [],
    ["mira", "jonas", "aiko", "sam"],
    [0, 10_000, 60_000],
    [],
    [mug],
    [own],
  ]);
  for (const name of ["startOver", "visit"]) expect(calls[name]).toHaveBeenCalledOnce();
});

it("the shop announces a problem, or else a clock that is off", () => {
  const announced = (more: object) => drawn(Shop, of(more)).elements.find(({ props }) => props.role === "status")?.props.children;
  expect([{}, { aheadMs: 3_600_000 }, { aheadMs: 3_600_000, problem: "No answer." }].map(announced)).toEqual([
    ...["", expect.stringMatching(/^This device's clock is 1 h ahead/), "No answer."],
  ]);
});

it("every product has a drawing of its own", () => {
  const drawings = products.map(({ id }) => drawn(Icon, { name: id }).elements[1].props.d);
  expect(drawings).toEqual(drawings.map(() => expect.stringMatching(/^M\d/)));
  expect(new Set(drawings).size).toBe(products.length);
});
