import { describe, expect, it } from "vitest";
import { headOf as archiveHead } from "../../../../cli/archive/folder.ts";
import { ArchivedLog, wholeLog } from "../../../../cli/archive/whole-log.ts";
import type { EventLine, HeadLine } from "../../../../cli/log/event-line.ts";
import type { ArchiveHead } from "../../../../worker/domain/archive/archive-file.ts";
import { LIMITS } from "../../../../worker/domain/archive/archive-file.ts";
import { whole } from "../../../support/logs/log-lines.ts";
import { DAY_MS, fileOf, headOf, START } from "../../../support/logs/registered-log.ts";

// The files of an archive as one log.

const mark = (seq: number) => whole({ type: "mark", seq, mark: "snapshot", content: { digest: `d${seq}` } });
const file = (name: string, seqs: readonly number[], head: Partial<ArchiveHead> = {}) => fileOf(name, seqs.map(mark), head);
const day = (n: number, version = 50) => ({ from: START + n * DAY_MS, until: START + (n + 1) * DAY_MS, version });

async function seqsOf(lines: AsyncIterable<EventLine | HeadLine>): Promise<(number | string)[]> {
  const seqs: (number | string)[] = [];
  for await (const line of lines) seqs.push(line.type === "model" ? line.model : line.seq);
  return seqs;
}

describe("the rows", () => {
  it("are in the order of their numbers, through files and row groups", async () => {
    const { groupRows } = LIMITS;
    Object.assign(LIMITS, { groupRows: 2 });
    try {
      const files = [await file("b", [3, 6, 8, 12], day(1)), await file("a", [1, 2, 5, 7, 9], day(0)), await file("c", [10, 11], day(2))];
      const archive = new ArchivedLog(files);
      expect(archive.rows).toBe(11);
      expect(await seqsOf(archive.lines())).toEqual([1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12]);
    } finally {
      Object.assign(LIMITS, { groupRows });
    }
  });

  it("have the version in whose state they are", async () => {
    const archive = new ArchivedLog([await file("a", [1], day(0, 7)), await file("b", [2], day(1, 9))]);
    const lines: EventLine[] = [];
    for await (const line of archive.lines()) lines.push(line);
    expect(lines).toEqual([
      { ...mark(1), archivedAt: 7 },
      { ...mark(2), archivedAt: 9 },
    ]);
  });

  it("have only the columns that are asked for", async () => {
    const archive = new ArchivedLog([await file("a", [1], day(0, 7))]);
    for await (const line of archive.lines(["type", "seq", "mark"]))
      expect(line).toMatchObject({ seq: 1, mark: "snapshot", content: null });
  });

  it("of no file are none", async () => {
    expect(await seqsOf(new ArchivedLog([]).lines())).toEqual([]);
  });
});

describe("the files", () => {
  it("are in the order of days, and of parts within a day", async () => {
    const files = [await file("c", [9], day(1)), await file("b", [5], day(0)), await file("a", [2], day(0)), await file("d", [1], day(2))];
    const { files: ordered, volumes } = new ArchivedLog(files);
    expect(ordered.map(({ name }) => name)).toEqual(["a", "b", "c", "d"]);
    expect(volumes).toEqual([
      { until: START + DAY_MS, last: 5, version: 50 },
      { until: START + 2 * DAY_MS, last: 9, version: 50 },
      { until: START + 3 * DAY_MS, last: 1, version: 50 },
    ]);
  });

  it("before a log are those of its generation, up to its horizon", async () => {
    const archive = new ArchivedLog([
      await file("a", [1], day(0)),
      await file("b", [2], day(1)),
      await file("c", [3], day(2)),
      await file("other generation", [1], { ...day(0), generation: 1 }),
      await file("other model", [1], { ...day(0), model: "toys" }),
    ]);
    const head = { model: "shop", generation: START, horizon: START + 2 * DAY_MS };
    expect(archive.before(head).files.map(({ name }) => name)).toEqual(["a", "b"]);
    expect(archive.before({ ...head, shards: 1 }).files).toHaveLength(2);
    expect(() => archive.before({ ...head, shards: 2 })).toThrow("expected no archive, as the model has 2 shards; leave out --archive");
    expect(new ArchivedLog([]).before({ ...head, shards: 2 }).files).toEqual([]);
  });

  it("are those that the log names", async () => {
    const archive = new ArchivedLog([
      await file("down\\day=1\\0000.parquet", [1], day(0)),
      await file("x/day=2/0000.parquet", [2], day(1)),
    ]);
    const named = (key: string, sha256: string) => archive.check({ archive: [{ key, sha256, rows: 1 }] } as never);
    await archive.check({});
    await named("any name", "x/day=2/0000.parquet");
    await expect(named("day=3/0000.parquet", "s")).rejects.toThrow(
      "day=3/0000.parquet: expected this file of the archive, got none; download it",
    );
    await expect(named("day=1/0000.parquet", "s")).rejects.toThrow(
      "down\\day=1\\0000.parquet: expected the file with SHA-256 s, which the log names, got another; download it again",
    );
  });

  it("have no gap from the beginning to the horizon", async () => {
    const [first, second, third] = [await file("a", [1], day(0)), await file("b", [2], day(1)), await file("c", [3], day(2))];
    const check = (files: readonly (typeof first)[], days: number) => new ArchivedLog(files).checkWhole(START, START + days * DAY_MS);
    check([first, second, third], 3);
    check([first, second], 1.5);
    // A day may begin before the one before it has ended.
    check([first, await file("b", [2], { ...day(1), from: START })], 2);
    expect(() => check([first, third], 3)).toThrow(
      "c: expected a file with the rows shown since 2026-01-02T00:00:00.000Z before it, got none",
    );
    expect(() => check([second, third], 3)).toThrow("b: expected a file with the rows shown since 2026-01-01T00:00:00.000Z before it");
    expect(() => check([first, second], 3)).toThrow(
      "expected an archive of the rows shown until 2026-01-04T00:00:00.000Z, which the model has forgotten, got one until 2026-01-03T00:00:00.000Z",
    );
  });
});

describe("the whole log", () => {
  const log = async function* (...lines: object[]) {
    yield* lines as (EventLine | HeadLine)[];
  };
  const head = headOf(3, 9, { horizon: START + DAY_MS });

  it("begins with the head, and merges rows and lines by their numbers", async () => {
    const archive = new ArchivedLog([await file("a", [1, 3, 8, 11, 12], day(0))]);
    expect(await seqsOf(wholeLog(archive, log(head, mark(2), mark(5), mark(9))))).toEqual(["shop", 1, 2, 3, 5, 8, 9, 11, 12]);
  });

  it("has the archive's row where both have one", async () => {
    const archive = new ArchivedLog([await file("a", [1, 2], day(0, 7))]);
    const lines: (EventLine | HeadLine)[] = [];
    for await (const line of wholeLog(archive, log(head, mark(2), mark(3)))) lines.push(line);
    expect(lines.slice(1)).toEqual([{ ...mark(1), archivedAt: 7 }, { ...mark(2), archivedAt: 7 }, mark(3)]);
  });

  it("has each row once if the file holds two exports", async () => {
    const archive = new ArchivedLog([await file("a", [1, 2], day(0))]);
    expect(await seqsOf(wholeLog(archive, log(head, mark(3), head, mark(4))))).toEqual(["shop", 1, 2, 3, "shop", 4]);
  });

  it("has no rows after its horizon", async () => {
    const archive = new ArchivedLog([await file("a", [1], day(0)), await file("b", [2], day(1))]);
    expect(await seqsOf(wholeLog(archive, log(head, mark(3))))).toEqual(["shop", 1, 3]);
  });
});

describe("the head of an archive alone", () => {
  it("is that of its files", async () => {
    const archive = new ArchivedLog([await file("a", [1, 2, 7], day(0)), await file("b", [3], day(1))]);
    const until = START + 2 * DAY_MS;
    expect(archiveHead(archive)).toEqual({
      ...{ type: "model", model: "shop", generation: START, horizon: until, modelVersion: 7, after: 0, lines: 4 },
      ...{ exportedAt: until, digest: null },
    });
  });

  it("needs files of one generation of a whole model", async () => {
    expect(() => archiveHead(new ArchivedLog([]))).toThrow("expected the archive of one generation of a model, got no files");
    const two = [await file("a", [1], day(0)), await file("b", [1], { ...day(1), generation: 5 })];
    expect(() => archiveHead(new ArchivedLog(two))).toThrow(
      `expected the archive of one generation of a model, got model=shop/generation=${START}, model=shop/generation=5`,
    );
  });
});
