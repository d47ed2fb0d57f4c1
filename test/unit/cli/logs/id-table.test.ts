import fc from "fast-check";
import { expect, it } from "vitest";
import { AwaitedConversions } from "../../../../cli/log/awaited.ts";
import { Column } from "../../../../cli/log/column.ts";
import { ConversionJoin } from "../../../../cli/log/conversion-join.ts";
import { IdTable } from "../../../../cli/log/id-table.ts";
import type { ConversionLine } from "../../../../worker/domain/log/log-line.ts";
import { idAt } from "../../../support/logs/registered-log.ts";

it("numbers ids in the order of their first appearance, whatever they are", () => {
  const near = fc.tuple(fc.nat(3), fc.nat(3)).map(([time, number]) => idAt(time, number));
  const id = fc.oneof(near, fc.uuid(), fc.constantFrom("", "configuration", idAt(0).toUpperCase(), `${idAt(0)} `));
  fc.assert(
    fc.property(fc.array(id), (ids) => {
      const table = new IdTable();
      const distinct = Array.from(new Set(ids));
      expect(ids.map((each) => table.add(each))).toEqual(ids.map((each) => distinct.indexOf(each)));
      expect(distinct.map((each) => table.find(each))).toEqual(Array.from(distinct.keys()));
      expect([table.size, table.find("another")]).toEqual([distinct.length, undefined]);
    }),
  );
});

it("finds each of many ids again", () => {
  const table = new IdTable();
  const ids = Array.from({ length: 20_000 }, (_, i) => idAt(Math.floor(i / 200), i % 200));
  for (const id of ids) table.add(id);
  expect(ids.every((id, i) => table.find(id) === i && table.add(id) === i)).toBe(true);
  expect(table.find(idAt(100))).toBeUndefined();
});

it("keeps numbers in a column, far apart too", () => {
  const column = new Column(Float64Array);
  column.set(0, 0.5);
  column.set(5_000_000_000, 7);
  expect([0, 1, 4096, 5_000_000_000, 5_000_000_001].map((at) => column.get(at))).toEqual([0.5, 0, 0, 7, 0]);
});

it("joins impressions with all their conversions, whichever comes first", () => {
  const events = ["a", "show a", "show b", "b", "a", "show none", "b", "other", "show late", "late"];
  const awaited = new AwaitedConversions();
  // A second line of the conversion of `late` does not stand.
  for (const event of [...events.filter((each) => !each.startsWith("show")), "late"]) awaited.count(event);
  const joined: string[] = [];
  const join = new ConversionJoin<string>(awaited, (shown, lines) => void joined.push(`${shown} ${lines.length}`));
  for (const event of events) {
    const [verb, id] = event.split(" ");
    if (verb === "show") join.show(id, id);
    else {
      awaited.pass(event);
      join.convert({ impression: event } as ConversionLine);
    }
  }
  expect(joined).toEqual(["a 2", "b 2"]);
  join.end();
  join.end();
  expect(joined).toEqual(["a 2", "b 2", "late 1"]);
});
