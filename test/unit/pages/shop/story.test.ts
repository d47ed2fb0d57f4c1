import { describe, expect, it } from "vitest";
import type { Shown } from "../../../../pages/shop/shown.ts";
import { productOf, profileOf, stage, story } from "../../../../pages/shop/story.ts";

const NOW = Date.parse("2026-11-21T12:00:00Z");
const WINDOW_MS = 120_000;

describe("the story of an impression", () => {
  const shown: Shown = {
    impressionId: "i",
    product: "mug",
    profile: "mira",
    shownAt: NOW,
    windowEndsAt: NOW + WINDOW_MS,
    status: "pending",
  };
  it.each([
    [{}, 0, "pending, 2:00 left"],
    [{}, 60_001, "pending, 1:00 left"],
    [{}, 110_500, "pending, 0:10 left"],
    [{}, 200_000, "pending, 0:00 left"],
    [{ status: "bought", reportAt: NOW + 10_000 }, 500, "bought, webhook in 0:10"],
    [{ status: "bought", reportAt: NOW + 10_000 }, 10_000, "bought, webhook on its way"],
    [{ status: "bought" }, 0, "bought, webhook on its way"],
    [{ status: "converted", settledAt: NOW + 61_000 }, 100_000, "converted after 1:01"],
    [{ status: "returned" }, 0, "returned: it counts as no purchase"],
    [{ status: "refused" }, 0, "the worker refused the purchase"],
    [{ status: "late" }, 0, "bought too late to count"],
    [{ status: "expired" }, 0, "expired without a purchase"],
  ] as const)("with %j after %d ms is %s", (more, ms, text) => {
    expect(story({ ...shown, ...more }, NOW + ms)).toBe(text);
  });

  it("of all visitors says what to do next, and changes rarely", () => {
    const session = { visitorsLeft: 0, visits: [], shown: [shown], counts: undefined, looks: 1 };
    const counts = { impressions: 3, pending: 2, converted: 1, expired: 0 };
    const visit = { favourite: true, model: 0, uniform: 0 };
    const bought = { ...shown, status: "bought" as const };
    expect([
      stage(session),
      stage({ ...session, counts }),
      stage({ ...session, visitorsLeft: 7, visits: [visit] }),
      stage({ ...session, shown: [bought], visits: [visit] }),
      stage({ ...session, visits: [visit] }),
      stage({ ...session, visits: [visit], looks: 6 }),
    ]).toEqual([
      "Nothing is known yet. Send visitors.",
      "The recommender remembers earlier visitors. Start over to see it learn from nothing.",
      "Visitors are coming.",
      "Purchases are on their way. Watch the estimates move towards the truth.",
      "All purchases are reported. Send more visitors, and the estimates come nearer.",
      "You have looked often and bought nothing. The recommender learns from you too, so its estimates fall.",
    ]);
  });

  it("names its product and its visitor", () => {
    expect([productOf("lamp").name, profileOf("aiko").name]).toEqual(["Desk lamp", "Aiko"]);
  });
});
