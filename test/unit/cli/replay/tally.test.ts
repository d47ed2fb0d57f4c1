import { describe, expect, it } from "vitest";
import { type Event, Tally } from "../../../../cli/replay/tally.ts";

// The reasons for which conversions count as lost, and the check of the worker's counters.

const event = (happenedAt = 50): Event => ({ impressionId: "i", windowEndsAt: 100, happenedAt });
const none = { applied: 0, duplicate: 0, late: 0 };

it("gives a reason for each loss, and counts those that share it", () => {
  const tally = new Tally();
  for (const status of ["late", "late", "unknown"]) tally.classify(event(), status, false);
  tally.classify(event(101), "applied", false);
  const known = event();
  for (const status of ["applied", "applied"]) tally.classify(known, status, false);
  expect(Object.fromEntries(tally.losses)).toEqual({
    "answered late to a conversion that came in time and was not known before": 2,
    "answered unknown to a conversion that came in time and was not known before": 1,
    "answered applied to a conversion that came too late and was not known before": 1,
    "answered applied to a conversion that came in time and was joined before": 1,
  });
  expect([tally.counts.lost, tally.delivered]).toEqual([5, 6]);
});

it("says that an accepted conversion was never applied", () => {
  const tally = new Tally();
  tally.settle(event(), false);
  expect(Object.fromEntries(tally.losses)).toEqual({ "accepted, but never applied": 1 });
});

it("loses nothing of nothing", () => {
  const tally = new Tally();
  tally.lose("no reason", 0);
  tally.lose("no reason", -1);
  expect([tally.counts.lost, tally.losses.size]).toEqual([0, 0]);
});

describe("the worker's counters", () => {
  /** A tally of so many deliveries of each class. */
  function counted(joined: number, duplicate: number, late: number): Tally {
    const tally = new Tally();
    Object.assign(tally.counts, { joined, duplicate, late });
    return tally;
  }

  it("are compared by what they have grown", () => {
    const tally = counted(5, 2, 1);
    tally.crossCheck({ applied: 10, duplicate: 20, late: 30 }, { applied: 15, duplicate: 22, late: 31 });
    expect(tally.counts).toEqual({ joined: 5, duplicate: 2, late: 1, lost: 0 });
  });

  it.each([
    [3, { joined: 3, duplicate: 0, late: 0, lost: 2 }, 2],
    [7, { joined: 3, duplicate: 0, late: 0, lost: 2 }, 2],
    [0, { joined: 0, duplicate: 0, late: 0, lost: 5 }, 5],
    [99, { joined: 0, duplicate: 0, late: 0, lost: 5 }, 5],
  ])("that show %d instead of 5 lose the difference", (applied, counts, lost) => {
    const tally = counted(5, 0, 0);
    tally.crossCheck(none, { ...none, applied });
    expect(tally.counts).toEqual(counts);
    expect(Array.from(tally.losses)).toEqual([[`expected the worker to count 5 applied by its answers, got ${applied}`, lost]]);
  });

  it("that show something of an empty class lose one", () => {
    const tally = counted(0, 0, 0);
    tally.crossCheck(none, { applied: 0, duplicate: 0, late: 4 });
    expect(tally.counts).toEqual({ joined: 0, duplicate: 0, late: 0, lost: 1 });
    expect(Array.from(tally.losses)).toEqual([["expected the worker to count 0 late by its answers, got 4", 1]]);
  });

  it("may differ by the deliveries whose answer was lost, or is still to come, except for the applied ones", () => {
    const after = { applied: 0, duplicate: 2, late: 0 };
    const uncertain = new Tally();
    uncertain.classify(event(101), "late", true);
    uncertain.classify(event(), "accepted", false);
    uncertain.crossCheck(none, { ...after, late: 1 });
    expect(uncertain.counts.lost).toBe(0);
    const one = new Tally();
    one.classify(event(101), "late", true);
    one.crossCheck(none, { ...after, late: 1 });
    expect(one.counts.lost).toBe(1);
    const applied = new Tally();
    applied.classify(event(), "applied", true);
    applied.crossCheck(none, none);
    expect(applied.counts).toEqual({ joined: 0, duplicate: 0, late: 0, lost: 1 });
  });
});
