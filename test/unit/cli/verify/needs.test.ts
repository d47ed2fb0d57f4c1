import { expect, it } from "vitest";
import { needsOf } from "../../../../cli/log/needs.ts";
import { config } from "../../../support/logs/registered-log.ts";

// The states that a replay has to keep, found by a first reading of a log. Places count from 1.

const head = { type: "model", model: "shop" };
const decision = { score: 0, mean: 0, width: 0.1, probability: 0.5, place: 0, candidates: 2 };
const shown = (seq: number, version: number, fields: object = {}) => ({
  type: "impression",
  seq,
  id: `i${seq}`,
  version,
  decision,
  ...fields,
});
const mark = (seq: number, name: string, content: object = {}, fields: object = {}) => ({
  type: "mark",
  seq,
  mark: name,
  content,
  ...fields,
});

async function needs(...lines: object[]) {
  async function* all() {
    yield* [head, ...lines];
  }
  const { versions, catalogues, shards, lengths, awaited: _, ...rest } = await needsOf(all() as never);
  return {
    ...rest,
    lengths: lines.map((_, i) => lengths.get(i + 1)),
    versions: Object.fromEntries(versions),
    catalogues: Object.fromEntries(catalogues),
    shards: Array.from(shards, ([shard, own]) => [shard, Object.fromEntries(own.versions), own.rollbacks] as const),
  };
}

it("needs each earlier version that decided, up to its last line", async () => {
  const found = await needs(mark(1, "configuration"), shown(2, 1), shown(3, 1), shown(4, 3), shown(5, 1));
  // The version just before a line is at hand.
  expect(found).toEqual({ lines: 5, lengths: [0, 0, 0, 0, 0], versions: { 1: 5 }, catalogues: {}, shards: [[0, {}, []]] });
});

it("needs no version for the later lines of a list, whose decision is at hand, but its length", async () => {
  const of = (place: number, first?: string) => ({ decision: { ...decision, place, first } });
  const lists = [shown(2, 1, of(0)), shown(3, 1, of(1, "i2")), shown(4, 1, of(2, "i2")), shown(5, 4, of(0)), shown(6, 4, of(3, "i5"))];
  const apart = [shown(7, 6), shown(8, 6, of(1, "i2"))];
  const found = await needs(mark(1, "configuration"), ...lists, ...apart, mark(9, "actions"), shown(10, 6, of(2, "i2")));
  expect(found).toMatchObject({ lengths: [0, 3, 0, 0, 4, 0, 0, 0, 0, 0], versions: { 6: 10 } });
});

it("needs no version of what was decided elsewhere", async () => {
  const registered = { ...decision, candidates: null, score: 0, mean: 0, width: 0 };
  const found = await needs(mark(1, "configuration"), shown(2, 1), shown(3, 1, { decision: null }), shown(4, 1, { decision: registered }));
  expect(found.versions).toEqual({});
});

it("needs the catalogue of another version that a decision names", async () => {
  const of = (catalogue: number) => ({ decision: { ...decision, catalogue } });
  const found = await needs(mark(1, "configuration"), mark(2, "actions"), shown(3, 1, of(2)), shown(4, 3, of(1)), shown(5, 4, of(2)));
  expect(found).toMatchObject({ versions: { 1: 3 }, catalogues: { 1: 4, 2: 5 } });
});

it("needs the version to which a shard was rolled back, and knows when", async () => {
  const rollback = mark(6, "rollback", { to: 1 }, { shard: 1 });
  const found = await needs(mark(1, "configuration"), mark(2, "rollback", { to: 1 }), rollback);
  expect(found.shards).toEqual([
    [0, { 1: 2 }, [{ to: 1, at: 2 }]],
    [1, { 1: 3 }, [{ to: 1, at: 6 }]],
  ]);
});

it("needs the sums of a shard that has gone on since a merge took them", async () => {
  const own = (seq: number) => shown(seq, 1, { shard: 1 });
  const found = await needs(
    mark(1, "configuration"),
    own(1),
    own(2),
    own(3),
    mark(2, "merged", { shards: [1, 2] }),
    mark(3, "merged", { shards: [2, 3] }),
  );
  expect(found.shards).toEqual([
    // The mark is itself an event of shard 0, after the version that it names.
    [0, { 1: 5, 2: 6 }, []],
    [1, { 2: 5 }, []],
  ]);
});

it("needs nothing from before a model learnt its log again", async () => {
  const relearnt = (seq: number, fields: object = {}) => mark(seq, "relearnt", { config, digest: "" }, fields);
  const lines = [
    mark(1, "configuration"),
    shown(2, 1),
    shown(3, 1),
    mark(4, "rollback", { to: 2 }),
    relearnt(5),
    shown(6, 3),
    shown(7, 5),
    shown(8, 5),
  ];
  const found = await needs(...lines, relearnt(9, { shard: 1 }));
  expect(found).toEqual({
    lines: 9,
    lengths: Array.from({ length: 9 }, () => 0),
    versions: { 5: 8 },
    catalogues: {},
    shards: [
      [0, {}, []],
      [1, {}, []],
    ],
    relearnt: {
      at: new Map([
        [0, 5],
        [1, 9],
      ]),
      config,
    },
  });
});
