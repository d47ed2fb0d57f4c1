import { describe, expect, it } from "vitest";
import { distinctLines } from "../../../../cli/log/distinct-lines.ts";
import { LogMismatch, nameOf } from "../../../../cli/log/event-line.ts";
import { linesOf } from "../../../../cli/log/event-log.ts";
import { sealed, whole } from "../../../support/logs/log-lines.ts";
import { configuration, headOf, START } from "../../../support/logs/registered-log.ts";

// From the texts of a file to the events of one model.

const head = (lines: number, fields: object = {}) => ({ ...headOf(lines, 9), ...fields });
const impression = (seq: number, fields: object = {}) => whole({ type: "impression", seq, id: `i${seq}`, shownAt: START, ...fields });
const conversion = (seq: number, of: string, fields: object = {}) =>
  whole({ type: "conversion", seq, impression: of, at: START, ...fields });

async function parsed(texts: readonly string[], receipts = false) {
  const lines = [];
  for await (const line of linesOf(texts, { receipts })) lines.push(line);
  return lines;
}
const textsOf = (...lines: object[]) => lines.map((line) => JSON.stringify(line));

describe("the lines of a file", () => {
  it("have their numbers in the file, which counts empty ones", async () => {
    const texts = textsOf(head(1), configuration);
    expect((await parsed(["", texts[0], "  ", texts[1], ""])).map(({ type, line }) => [type, line])).toEqual([
      ["model", 2],
      ["mark", 4],
    ]);
  });

  it("begin with a head", async () => {
    await expect(parsed(textsOf(configuration))).rejects.toThrow("line 1: expected the head of an exported log, got mark");
    await expect(parsed(textsOf({ type: "end", lines: 0 }))).rejects.toThrow("line 1: expected the head of an exported log, got end");
    await expect(parsed(["", " "])).rejects.toThrow("expected an exported log, got an empty one");
  });

  it("are JSON", async () => {
    await expect(parsed([...textsOf(head(1)), "{"])).rejects.toThrow(
      new LogMismatch("line 2: expected a line of an exported log, got no JSON"),
    );
  });

  it("are as many as the head states, or as the end that corrects it", async () => {
    const end = (lines: number) => ({ type: "end", lines });
    expect(await parsed(textsOf(head(3), configuration, end(1)))).toHaveLength(2);
    await expect(parsed(textsOf(head(3), configuration))).rejects.toThrow(
      "line 1, the head: expected 3 events, got 1; export the log again",
    );
    await expect(parsed(textsOf(head(3), configuration, end(2)))).rejects.toThrow(
      "line 3, the end: expected 2 events, got 1; export the log again",
    );
    // Each export of a file by itself.
    expect(await parsed(textsOf(head(3), configuration, end(1), head(1), configuration))).toHaveLength(4);
    await expect(parsed(textsOf(head(3), configuration, end(1), head(2), configuration))).rejects.toThrow(
      "line 4, the head: expected 2 events, got 1",
    );
  });

  it("have receipts that follow each other, where these are asked for", async () => {
    const texts = sealed([head(2), configuration, impression(2)]);
    expect(await parsed(texts, true)).toHaveLength(3);
    await expect(parsed(texts.with(1, JSON.stringify(configuration)), true)).rejects.toThrow(
      "line 2, event 1, configuration: expected a receipt, got none",
    );
    await expect(parsed(texts.with(1, texts[1].replace("uniform", "other")), true)).rejects.toThrow(
      "line 2, event 1, configuration: the receipt does not match this line and the one before; one of them was changed",
    );
    expect(await parsed(texts.with(1, texts[1].replace("uniform", "other")))).toHaveLength(3);
  });
});

it.each<[object, string]>([
  [{ type: "model" }, "the head"],
  [{ type: "end", line: 7 }, "line 7, the end"],
  [{ type: "mark", mark: "actions", seq: 4, line: 3 }, "line 3, event 4, actions"],
  [{ type: "impression", id: "i", seq: 4, shard: 2 }, "event 4 of shard 2, impression i"],
  [{ type: "conversion", impression: "i", id: "no", seq: 4, shard: 0 }, "event 4 of shard 0, conversion of i"],
  [{ type: "erased", id: "i", seq: 4 }, "event 4, erased i"],
])("names the line %j", (line, name) => {
  expect(nameOf(line as never)).toBe(name);
});

describe("the events of a model", () => {
  const read = async (lines: readonly object[]) => {
    const progress: [number, number][] = [];
    const update = (...each: [number, number]) => void progress.push(each);
    async function* log() {
      yield* lines as never[];
    }
    const found = await distinctLines(log, { progress: update, keeps: ({ mark }) => mark === "configuration" });
    const standing = [];
    for await (const line of found.lines(update)) standing.push(line);
    return { ...found, lines: standing, progress };
  };

  it("stand once each, as the latest export has them", async () => {
    const early = [head(2, { exportedAt: 5 }), impression(1), impression(2)];
    const late = [head(3, { exportedAt: 8 }), impression(1), impression(2, { state: "void" }), impression(3)];
    const { lines, events, repeated, end, model } = await read([...early, ...late]);
    expect(lines).toEqual([impression(1), impression(2, { state: "void" }), impression(3)]);
    expect({ events, repeated, end, model }).toEqual({ events: 3, repeated: 2, end: 8, model: "shop" });
    const other = await read([...late, ...early]);
    expect([other.lines, other.end, other.repeated]).toEqual([lines, 8, 2]);
  });

  it("are read twice, with progress by line", async () => {
    const { progress } = await read([head(300), ...Array.from({ length: 300 }, (_, i) => impression(i + 1))]);
    const [head300, each256, begun, again, done] = progress;
    expect(head300).toEqual([0, 300]);
    expect(each256).toEqual([256, 300]);
    expect([begun, again, done]).toEqual([
      [0, 300],
      [256, 300],
      [300, 300],
    ]);
  });

  it("stand as the first of two exports of one time has them", async () => {
    const { lines } = await read([head(1), impression(1), head(1), impression(1, { state: "void" })]);
    expect(lines).toEqual([impression(1)]);
  });

  it("name the marks that the caller keeps, in the order of their numbers and as they stand", async () => {
    const second = { ...configuration, seq: 2 };
    const exported = [head(3, { exportedAt: 5 }), second, { ...configuration, seq: 1 }, { ...configuration, seq: 3, mark: "actions" }];
    const latest = { ...second, content: "latest" };
    const { marks } = await read([...exported, head(1, { exportedAt: 8 }), latest, { ...configuration, seq: 4, shard: 1 }]);
    expect(marks).toEqual([{ ...configuration, seq: 1 }, latest]);
  });

  it("are numbered by shard", async () => {
    const { lines, repeated } = await read([
      head(3),
      impression(1),
      impression(1, { id: "x", shard: 1 }),
      impression(1, { id: "y", shard: 2 }),
    ]);
    expect([lines.length, repeated]).toEqual([3, 0]);
    // Shard 0 is the model itself.
    expect((await read([head(2), impression(1), impression(1, { shard: 0 })])).repeated).toBe(1);
  });

  it.each<[string, object, object]>([
    ["impression", impression(1), { type: "erased", seq: 1, id: "i1" }],
    ["conversion", conversion(1, "i1"), { type: "erased", seq: 1, id: "i1" }],
    ["conversion that was rolled back", conversion(1, "i1"), conversion(1, "i1", { status: "void" })],
    ["mark", configuration, { ...configuration, content: {} }],
  ])("may change in a later export: %s", async (_, before, after) => {
    const { lines } = await read([head(1), before, head(1, { exportedAt: START + 1e9 }), after]);
    expect(lines).toEqual([after]);
  });

  it.each<[object, object, string]>([
    [impression(1), impression(1, { id: "z" }), "i1 and z"],
    [conversion(1, "i1"), conversion(1, "z"), "i1 and z"],
    [configuration, { ...configuration, mark: "actions" }, "configuration and actions"],
    [configuration, impression(1), "configuration and i1"],
  ])("may not be another one in a later export", async (before, after, ids) => {
    await expect(read([head(1), before, head(1), after])).rejects.toThrow(
      `expected one line of event 1, got two that differ, of ${ids}: export the log again`,
    );
  });

  it("have each impression under one number, unless it was not shown", async () => {
    const twice = (state: string) => read([head(2), impression(1, { id: "i" }), impression(2, { id: "i", state })]);
    await expect(twice("live")).rejects.toThrow(
      "event 2, impression i: expected each impression once, got its id under two numbers; export the log again",
    );
    expect((await twice("void")).lines).toHaveLength(2);
    expect((await read([head(2), conversion(1, "i"), conversion(2, "i")])).lines).toHaveLength(2);
  });

  it("are of one generation of one model", async () => {
    await expect(read([head(0), head(0, { model: "toys" })])).rejects.toThrow(
      "the head: expected the log of one model, model shop, got lines of model toys too: use each log by itself",
    );
    await expect(read([head(0), head(0, { generation: 5 })])).rejects.toThrow(
      `expected the log of one model, generation ${START}, got lines of generation 5, which is later or earlier than a reset too: `,
    );
  });
});
