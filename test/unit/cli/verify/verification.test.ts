import { describe, expect, it } from "vitest";
import type { ArchivedLog } from "../../../../cli/archive/whole-log.ts";
import { LogMismatch } from "../../../../cli/log/event-line.ts";
import { verify, verifyArchive } from "../../../../cli/verify/verification.ts";
import { sealed } from "../../../support/logs/log-lines.ts";
import {
  archiveOf,
  config,
  configuration,
  conversionOf,
  DAY_MS,
  headOf,
  impressionAt,
  START,
} from "../../../support/logs/registered-log.ts";

// Small logs by hand. test/worker/log verifies those of workers.

const HOUR_MS = 3_600_000;
const reached = { reward: 1, converted: true };
/** Two impressions, the first of which converts. */
const events = [configuration, impressionAt(2, 1, START, reached), conversionOf(3, START, START + HOUR_MS), impressionAt(4, 2, START + 5)];

const verified = (lines: readonly object[], archive?: ArchivedLog) => verify(() => sealed(lines), undefined, archive);
async function refusalOf(lines: readonly object[], archive?: ArchivedLog): Promise<string> {
  const error = await verified(lines, archive).then(
    () => undefined,
    (caught: Error) => caught,
  );
  expect(error).toBeInstanceOf(LogMismatch);
  return error?.message ?? "";
}

it("tells what it has verified", async () => {
  const { head, ...rest } = await verified([headOf(4, 7), ...events]);
  expect(head).toMatchObject({ model: "shop", modelVersion: 7 });
  expect(rest).toEqual({ lines: 4, last: 4, tally: { decisions: 0, elsewhere: 2, before: 0, conversions: 1, digests: 0 } });
});

it("compares the state at the end with the digest of the head", async () => {
  const refusal = await refusalOf([headOf(4, 4, { digest: "0123456789abcdef" }), ...events]);
  const [, digest] = /^the head: digest: expected ([0-9a-f]+), got 0123456789abcdef$/.exec(refusal) as RegExpExecArray;
  expect((await verified([headOf(4, 4, { digest }), ...events])).tally.digests).toBe(1);
});

it("reports its progress at the beginning and every 256 events", async () => {
  const lines = [configuration, ...Array.from({ length: 512 }, (_, i) => impressionAt(i + 2, i + 1, START + i))];
  const progress: [string, number, number][] = [];
  await verify(() => sealed([headOf(513, 513), ...lines]), {
    checked: (...each) => void progress.push(["checked", ...each]),
    verified: (...each) => void progress.push(["verified", ...each]),
  });
  expect(progress).toEqual([
    ["checked", 256, 513],
    ["checked", 512, 513],
    ["verified", 0, 513],
    ["verified", 256, 513],
    ["verified", 512, 513],
  ]);
});

describe("a log is refused", () => {
  it.each<[string, object[], string]>([
    [
      "that starts later",
      [headOf(4, 4, { after: 1 }), ...events],
      'expected a log from the beginning, got one that starts after event 1; export it without "after"',
    ],
    ["with two heads", [headOf(4, 4), ...events, headOf(0, 4)], "expected one head, got two"],
    ["whose version is behind", [headOf(4, 3), ...events], "the head: modelVersion: expected at least 4, got 3"],
    [
      "with another configuration at its end",
      [headOf(4, 4, { config: { ...config, seed: 1 } }), ...events],
      "the head: config.seed: expected 0, got 1",
    ],
    [
      "whose numbers do not rise",
      [headOf(4, 4), ...events.with(2, { ...events[2], seq: 2 })],
      "event 2, conversion of 019b76da-a800-7000-8000-000000000000: expected a number above 2",
    ],
    ["without a configuration", [headOf(1, 2), events[1]], "expected a configuration first: the log lacks its beginning"],
    [
      "with a time that its id contradicts",
      [headOf(2, 2), configuration, { ...events[1], shownAt: START + 1 }],
      `shownAt: expected ${START} by its id, got ${START + 1}`,
    ],
    [
      "with a shard that the model does not have",
      [headOf(2, 2), configuration, { ...events[1], shard: 1 }],
      "of shard 1, impression 019b76da-a800-7000-8000-000000000000: shard: expected a number from 0 to 0, got 1",
    ],
    [
      "from which something was erased",
      [headOf(2, 2), configuration, { type: "erased", seq: 2, id: "i" }],
      "was erased: neither this event",
    ],
    ["with another outcome", [headOf(2, 2), configuration, impressionAt(2, 1, START, reached)], "reward: expected null, got 1"],
    ["with another state", [headOf(2, 2), configuration, impressionAt(2, 1, START, { state: "void" })], "state: expected live, got void"],
    [
      "with a rollback to a version that never existed",
      [headOf(2, 2), configuration, { type: "mark", seq: 2, mark: "rollback", content: { to: 5 } }],
      "expected a rollback to an earlier version, got 5, which never existed",
    ],
  ])("%s", async (_, lines, message) => {
    expect(await refusalOf(lines)).toContain(message);
  });

  it("that was changed between the two readings", async () => {
    let reading = 0;
    const texts = () => {
      const lines = sealed([headOf(4, 4), ...events]);
      return ++reading < 3 ? lines : lines.with(3, lines[3].replace('"reward":1', '"reward":0.5'));
    };
    await expect(verify(texts)).rejects.toThrow("reward: expected 0.5, got 1");
  });
});

it("undoes at a rollback what came after a version, and nothing before it", async () => {
  const lines = [
    configuration,
    impressionAt(2, 1, START, reached),
    conversionOf(3, START, START + HOUR_MS),
    impressionAt(4, 2, START + 5, { state: "void" }),
    conversionOf(5, START + 5, START + HOUR_MS, { status: "void" }),
    { type: "mark", seq: 6, mark: "rollback", content: { to: 3 } },
    impressionAt(7, 2, START + 9),
  ];
  expect((await verified([headOf(7, 7), ...lines])).tally).toMatchObject({ elsewhere: 3, conversions: 2 });
  expect(await refusalOf([headOf(7, 7), ...lines.with(3, impressionAt(4, 2, START + 5))])).toContain("state: expected void, got live");
  expect(await refusalOf([headOf(7, 7), ...lines.with(1, impressionAt(2, 1, START, { ...reached, state: "void" }))])).toContain(
    "state: expected live, got void",
  );
});

it("learns again what came before a model learnt its log again, and repeats no decision of then", async () => {
  const decision = { score: 0.5, mean: 0, width: 0.1, probability: 0.5, place: 0, candidates: 2 };
  const log = (digest: string) => [
    headOf(6, 6),
    configuration,
    impressionAt(2, 1, START, { ...reached, decision }),
    conversionOf(3, START, START + HOUR_MS),
    { type: "mark", seq: 4, mark: "relearnt", content: { config, digest } },
    // An isolate decided it by a version of before.
    impressionAt(5, 2, START + 5, { version: 1, decision }),
    impressionAt(6, 3, START + 9, { version: 4 }),
  ];
  const [, digest] = /digest: expected ([0-9a-f]+), got other$/.exec(await refusalOf(log("other"))) as RegExpExecArray;
  expect((await verified(log(digest))).tally).toEqual({ decisions: 0, elsewhere: 1, before: 2, conversions: 1, digests: 1 });
});

it("learns no deferred impression, whose conversion is an orphan", async () => {
  const deferred = impressionAt(2, 1, START, { state: "deferred", round: null });
  const lines = [configuration, deferred, conversionOf(3, START, START + HOUR_MS, { status: "orphan" }), impressionAt(4, 1, START + 5)];
  expect((await verified([headOf(4, 4), ...lines])).tally).toMatchObject({ elsewhere: 2, conversions: 1 });
  expect(await refusalOf([headOf(4, 4), ...lines.with(2, conversionOf(3, START, START + HOUR_MS))])).toContain(
    "status: got applied, but no live impression comes before",
  );
});

describe("a model of two shards", () => {
  const sharded = { ...config, policy: "otf-lin-ucb", options: { dimension: 2, norms: "exact" }, encoder: null, shards: 2 };
  const features = (...values: number[]) => ({ features: values });
  const own = [
    { ...configuration, content: sharded },
    { ...impressionAt(1, 1, START, { ...reached, ...features(1, 0) }), shard: 1 },
    { ...conversionOf(2, START, START + HOUR_MS), shard: 1 },
    impressionAt(2, 1, START + 5, features(0, 1)),
  ];
  const merged = (seq: number, digest: string, shards: readonly number[]) => ({
    type: "mark",
    seq,
    mark: "merged",
    content: { digest, shards },
  });
  const after = { ...impressionAt(3, 2, START + 9, features(1, 1)), shard: 1 };
  const log = (digest: string, shards: readonly number[], ...more: object[]) => {
    const lines = [...own, ...more, merged(3, digest, shards)];
    return [headOf(lines.length, 3, { config: sharded }), ...lines];
  };
  const digestOf = async (shards: readonly number[], ...more: object[]) => {
    const refusal = await refusalOf(log("other", shards, ...more));
    expect(refusal).toContain("digest: expected");
    return (/digest: expected ([0-9a-f]+), got other$/.exec(refusal) as RegExpExecArray)[1];
  };

  it("has the sums of both at the versions of a merge", async () => {
    const digest = await digestOf([2, 2]);
    expect((await verified(log(digest, [2, 2]))).tally).toMatchObject({ elsewhere: 2, conversions: 1, digests: 1 });
    // Lines of a shard that follow its version are not in the merge.
    expect((await verified(log(digest, [2, 2], after))).tally.digests).toBe(1);
    expect(await digestOf([2, 3], after)).not.toBe(digest);
    expect(await digestOf([2, 0])).not.toBe(digest);
    expect(await digestOf([1, 2])).not.toBe(digest);
  });

  it("has no merge in an archive, and no configuration of a shard", async () => {
    const wrong = (line: object) => refusalOf([headOf(own.length + 1, 3, { config: sharded }), ...own, line]);
    expect(await wrong({ ...merged(3, "d", [2, 2]), shard: 1 })).toContain("mark: expected a known kind, got merged");
    expect(await wrong({ ...impressionAt(3, 1, START + 9), shard: 2 })).toContain("shard: expected a number from 0 to 1, got 2");
  });
});

describe("an archive before a log", () => {
  const [first, second, third] = [START + HOUR_MS, START + DAY_MS, START + 2 * DAY_MS];
  /** The first day's impression converts after the last row of the second day. */
  const days = [
    [configuration, impressionAt(2, 1, first, reached), conversionOf(4, first, START + 3 * DAY_MS)],
    [impressionAt(3, 2, second)],
  ];
  const head = headOf(1, 5, {
    horizon: START + 2 * DAY_MS,
    archive: [
      { key: "a", rows: 3, sha256: "day-0" },
      { key: "b", rows: 1, sha256: "day-1" },
    ],
  });

  it("is verified with the conversions that came after the rows of later days", async () => {
    const archive = await archiveOf(days, 5);
    const { lines, last, tally } = await verified([head, impressionAt(5, 3, third)], archive);
    expect([lines, last, tally.elsewhere, tally.conversions]).toEqual([5, 5, 3, 1]);
    const alone = await verifyArchive(archive, headOf(4, 5, { horizon: START + 2 * DAY_MS }) as never);
    expect([alone.lines, alone.last, alone.tally.conversions]).toEqual([4, 4, 1]);
  });

  it("has the outcome of each row at the end of the archive", async () => {
    for (const [day, row, message] of [
      [0, impressionAt(2, 1, first), "reward: expected 1, got null"],
      [1, impressionAt(3, 2, second, { state: "void" }), "state: expected live, got void"],
      [1, impressionAt(3, 2, second, { converted: true }), "converted: expected false, got true"],
    ] as const) {
      const changed = days.with(
        day,
        [...days[day].filter((line) => line.seq !== row.seq), row].toSorted((a, b) => a.seq - b.seq),
      );
      const archive = await archiveOf(changed, 5);
      expect(await refusalOf([head, impressionAt(5, 3, third)], archive)).toContain(message);
      await expect(verifyArchive(archive, headOf(4, 5, { horizon: START + 2 * DAY_MS }) as never)).rejects.toThrow(message);
    }
  });

  it("is needed only for a log whose oldest events are gone", async () => {
    expect(await refusalOf([head, impressionAt(5, 3, third)])).toBe(
      "expected a complete log, got one whose oldest events have passed the model's retention; add the archive with --archive",
    );
    expect((await verified([headOf(4, 4, { horizon: START }), ...events])).lines).toBe(4);
  });

  it("has every day until the horizon, and the files that the log names", async () => {
    const lines = [head, impressionAt(5, 3, third)];
    const { files } = await archiveOf(days, 5);
    const archive = await archiveOf(days, 5);
    Object.assign(archive, { files: files.slice(0, 1) });
    await expect(verified([{ ...head, archive: [] }, lines[1]], archive)).rejects.toThrow(
      "expected an archive of the rows shown until 2026-01-03T00:00:00.000Z, which the model has forgotten, got one until 2026-01-02T00:00:00.000Z",
    );
    await expect(verified(lines, archive)).rejects.toThrow("b: expected this file of the archive, got none; download it");
  });

  it("does not show a rollback after its version", async () => {
    const archive = await archiveOf([[configuration, impressionAt(2, 1, first)]], 2);
    const lines = [{ type: "mark", seq: 4, mark: "rollback", content: { to: 1 } }, impressionAt(5, 1, third)];
    expect((await verified([headOf(2, 5, { horizon: START + DAY_MS }), ...lines], archive)).tally.elsewhere).toBe(2);
  });

  it("of several shards cannot be verified", async () => {
    expect(await refusalOf([{ ...head, shards: 2 }, impressionAt(5, 3, third)])).toContain(
      "the archives of 2 shards cannot be put together yet",
    );
    const merging = await archiveOf([[configuration, { type: "mark", seq: 2, mark: "merged", content: { shards: [1, 4] } }]], 2);
    await expect(verifyArchive(merging, headOf(2, 2, { horizon: START + DAY_MS }) as never)).rejects.toThrow(
      "event 2, merged: merges several shards: their archives cannot be verified yet",
    );
  });
});
