import { expect, it } from "vitest";
import { type Event, Tally } from "../../../../cli/replay/tally.ts";

// The class of each delivery, the reasons for which conversions count as lost, and the check of the worker's counters.

const event = (happenedAt = 50): Event => ({ impressionId: "i", windowEndsAt: 100, happenedAt });
const none = { applied: 0, duplicate: 0, late: 0 };

it("puts each delivery into one class", () => {
  const tally = new Tally();
  const [inTime, tooLate] = [event(100), event(101)];
  for (const status of ["applied", "duplicate"]) tally.classify(inTime, status, false);
  for (const status of ["late", "duplicate"]) tally.classify(tooLate, status, false);
  // The worker's counters count what has come since the replay began.
  tally.crossCheck({ applied: 10, duplicate: 20, late: 30 }, { applied: 11, duplicate: 22, late: 31 });
  expect(tally.counts).toEqual({ joined: 1, duplicate: 2, late: 1, lost: 0 });
  expect(tally.delivered).toBe(4);
});

it.each([
  ["applied twice", 50, ["applied", "applied"], "applied to a conversion that came in time and was joined"],
  ["called late within its window", 50, ["late"], "late to a conversion that came in time and was not known"],
  ["applied after its window", 101, ["applied"], "applied to a conversion that came too late and was not known"],
  ["called duplicate without ever having been applied", 50, ["duplicate"], "duplicate to a conversion that came in time and was not known"],
  ["not known to the worker", 50, ["unknown"], "unknown to a conversion that came in time and was not known"],
])("counts a conversion as lost that is %s, with a reason", (_, happenedAt, statuses, reason) => {
  const tally = new Tally();
  for (const conversion of [event(happenedAt), event(happenedAt)]) for (const status of statuses) tally.classify(conversion, status, false);
  expect(Array.from(tally.losses)).toEqual([[`answered ${reason} before`, 2]]);
  expect([tally.counts.lost, tally.delivered]).toEqual([2, 2 * statuses.length]);
});

it("loses nothing of nothing", () => {
  const tally = new Tally();
  for (const count of [0, -1]) tally.lose("no reason", count);
  expect([tally.counts.lost, tally.losses.size]).toEqual([0, 0]);
});

it("takes a duplicate for the first if the first answer got lost", () => {
  const tally = new Tally();
  tally.classify(event(50), "duplicate", true);
  tally.crossCheck(none, { applied: 1, duplicate: 1, late: 0 });
  expect(tally.counts).toEqual({ joined: 1, duplicate: 0, late: 0, lost: 0 });
});

it("settles what only the journal had, once", () => {
  const tally = new Tally();
  const [taken, forgotten, tooLate] = [event(50), event(50), event(150)];
  for (const each of [taken, taken, forgotten, tooLate]) tally.classify(each, "accepted", false);
  expect(tally.delivered).toBe(0);
  for (const each of tally.accepted) tally.settle(each, each === taken);
  expect(tally.counts).toEqual({ joined: 1, duplicate: 1, late: 1, lost: 1 });
  expect(Array.from(tally.losses)).toEqual([["accepted, but never applied", 1]]);
});

it.each(["applied", "duplicate", "late"] as const)("loses the difference to the worker's own count of %s", (counter) => {
  const own = ({ applied: "joined", duplicate: "duplicate", late: "late" } as const)[counter];
  for (const [counted, theirs, lost] of [
    [5, 3, 2],
    [5, 7, 2],
    [5, 0, 5],
    [5, 99, 5],
    [0, 4, 1],
  ]) {
    const tally = new Tally();
    tally.counts[own] = counted;
    tally.crossCheck(none, { ...none, [counter]: theirs });
    expect(tally.counts).toEqual({ joined: 0, duplicate: 0, late: 0, [own]: Math.max(0, counted - lost), lost });
    expect(Array.from(tally.losses)).toEqual([[`expected the worker to count ${counted} ${counter} by its answers, got ${theirs}`, lost]]);
  }
});

it("lets counters differ by the deliveries whose answer was lost, or is still to come, except for the applied ones", () => {
  const lostAfter = (deliveries: readonly (readonly [number, string, boolean])[], after: object): number => {
    const tally = new Tally();
    for (const [happenedAt, status, resent] of deliveries) tally.classify(event(happenedAt), status, resent);
    tally.crossCheck(none, { ...none, ...after });
    return tally.counts.lost;
  };
  const [late, accepted] = [[101, "late", true] as const, [50, "accepted", false] as const];
  expect(lostAfter([late, accepted], { duplicate: 2, late: 1 })).toBe(0);
  expect(lostAfter([late], { duplicate: 2, late: 1 })).toBe(1);
  expect(lostAfter([[50, "applied", true]], {})).toBe(1);
});
