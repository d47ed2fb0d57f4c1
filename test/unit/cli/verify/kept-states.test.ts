import { expect, it } from "vitest";
import { KeptStates } from "../../../../cli/verify/kept-states.ts";

/** Comes to events one after the other, each in the line of its number, and notes which versions are kept. The state is the last event. */
function keptAt(last: [version: number, place: number][], events: readonly number[], versions: readonly number[]) {
  const states = new KeptStates<string>(new Map(last));
  let present: string | undefined;
  return events.map((event) => {
    states.keep(event, event, () => present);
    present = `after ${event}`;
    return versions.map((version) => states.get(version));
  });
}

it("keeps the state of a version from the next event to the last line that needs it", () => {
  expect(keptAt([[2, 4]], [1, 2, 3, 4, 5], [2])).toEqual([[undefined], [undefined], ["after 2"], ["after 2"], [undefined]]);
});

it("keeps versions in their order, however they were found", () => {
  const found: [number, number][] = [
    [10, 12],
    [2, 12],
    [9, 12],
  ];
  expect(keptAt(found, [1, 2, 3, 9, 10, 11], [2, 9, 10]).at(-1)).toEqual(["after 2", "after 9", "after 10"]);
});

it("takes the state before a gap for all versions in it", () => {
  const found: [number, number][] = [
    [3, 9],
    [4, 9],
  ];
  expect(keptAt(found, [2, 6], [3, 4])).toEqual([
    [undefined, undefined],
    ["after 2", "after 2"],
  ]);
});

it("has no state of a version before the first event", () => {
  expect(keptAt([[0, 9]], [1, 2, 3], [0])).toEqual([[undefined], [undefined], [undefined]]);
});

it("takes a state only for a version that is needed", () => {
  const states = new KeptStates<string>(new Map([[2, 5]]));
  let taken = 0;
  for (const event of [1, 2, 3, 4]) states.keep(event, event, () => `state ${++taken}`);
  expect([taken, states.get(2)]).toEqual([1, "state 1"]);
});
