import { readFile } from "node:fs/promises";
import * as v from "valibot";
import { describe, expect, it } from "vitest";
import { table, withTables } from "../../../cli/command/markdown.ts";
import { linesOf } from "../../../cli/log/event-log.ts";
import { checkedLine } from "../../../worker/domain/log/checked-line.ts";
import { logLine } from "../../../worker/domain/log/log-line.ts";
import { pastLine } from "../../../worker/domain/log/past-line.ts";
import { pastLines } from "../../../worker/edge/routes/models/events.ts";
import { logTable } from "../../../worker/openapi/log-table.ts";
import { config, textsOf, whole } from "../../support/logs/log-lines.ts";

// A line that no worker writes is refused by the commands and by an import alike. The table is the schema itself.

const HASH = "Kng9xoso8niknH-aMWIc1A";
const decision = {
  ...{ score: 0.5, mean: 0, width: 0.1, probability: 1, place: 0, candidates: 2, catalogue: 3, first: "i0" },
  ...{ shadows: { process: "mug" }, asked: { exclude: ["mug"], limit: 2, filter: { price: { max: 2 } } } },
};
const mark = (name: string, content: object) => ({ type: "mark", seq: 7, mark: name, content });

/** A line of each kind, with every field. */
const KINDS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = Object.fromEntries(
  Object.entries({
    impression: {
      type: "impression",
      seq: 7,
      id: "i7",
      round: 1,
      reward: 0.5,
      decision,
      byPage: true,
      sampling: 16,
      context: { country: "PT" },
      hashes: [HASH],
    },
    conversion: { type: "conversion", seq: 7, impression: "i7", restates: true, hash: HASH, action: "mug" },
    erased: { type: "erased", seq: 7, id: "i7" },
    model: {
      ...{ type: "model", format: 1, shards: 2, lines: 0, digest: "d" },
      archive: [{ key: "a", rows: 1, sha256: "d", shard: 1 }],
    },
    end: { type: "end", lines: 0 },
    configuration: mark("configuration", {}),
    actions: mark("actions", { size: 1, changed: [[0, { id: "mug", available: false }]], more: true }),
    snapshot: mark("snapshot", { counts: { "delay 7": 2 } }),
    relearnt: mark("relearnt", { at: 4 }),
    merged: mark("merged", { shards: [1, 0] }),
    rollback: mark("rollback", { to: 0 }),
    erasure: mark("erasure", { impression: "i7" }),
  }).map(([kind, line]) => [kind, { ...whole(line), receipt: HASH, ...(!["model", "end"].includes(kind) && { shard: 1 }) }]),
);

const reasonOf = (error: unknown): string => (error as Error).message;

/** The commands' refusal of a line, after the line's name. Undefined if they take it. */
async function faultInCommands(line: object | string): Promise<string | undefined> {
  const texts = [...textsOf([{ type: "model", lines: 1 }]), typeof line === "string" ? line : JSON.stringify(line)];
  try {
    for await (const _ of linesOf(texts, { receipts: false }));
  } catch (error) {
    return /^line 2(?:, [^:]*)?: (.*)$/.exec(reasonOf(error))?.[1];
  }
  return undefined;
}

/** The import's refusal of a line, after the line's number. Undefined if it takes it. */
async function faultInImport(line: object | string): Promise<string | undefined> {
  const text = typeof line === "string" ? line : JSON.stringify(line);
  if (typeof line !== "string" && v.is(pastLine, line)) return undefined;
  const refusal = await pastLines(`\n${text}`, {} as never).catch(reasonOf);
  return /^line 2: (.*)$/.exec(String(refusal))?.[1];
}

const CORRECT = "correct the line, or export the log again";
const UPDATE = "update afterclick if a later version wrote the log, or correct the line";

describe.each(Object.entries(KINDS))("a line of %s", (kind, line) => {
  it("is taken", () => {
    expect(checkedLine(logLine, line)).toEqual(line);
    expect(v.is(pastLine, line)).toBe(true);
  });

  it("with a field too many is refused, by the name of the field", async () => {
    for (const at of ["", "decision", "content"].filter((name) => name === "" || line[name])) {
      const extra = at ? { ...line, [at]: { ...(line[at] as object), colour: 1 } } : { ...line, colour: 1 };
      const unknown = new RegExp(`^${at && `${at}\\.`}colour: there is no such field; expected one of .*; ${UPDATE}$`);
      expect(await faultInCommands(extra)).toMatch(unknown);
      expect(await faultInImport(extra)).toMatch(unknown);
    }
  });

  const fields = [...Object.keys(line), ...(kind === "impression" ? Object.keys(decision).map((name) => `decision.${name}`) : [])];
  const contents = line.content ? Object.keys(line.content).map((name) => `content.${name}`) : [];

  it.each([...fields, ...contents])("is refused without %s, unless it may lack it, and with one of another type", async (path) => {
    const [outer, inner] = path.split(".");
    const withValue = (value: unknown) => ({ ...line, [outer]: inner ? { ...(line[outer] as object), [inner]: value } : value });
    const given = inner ? (line[outer] as Record<string, unknown>)[inner] : line[outer];
    const wrong = withValue(typeof given === "string" || given === null ? 5 : "?");
    for (const faultIn of [faultInCommands, faultInImport]) {
      const missing = await faultIn(withValue(undefined));
      if (missing) expect(missing).toMatch(/: (required: )?expected .*, got nothing; /);
      const another = new RegExp(`^${path.replace(".", "\\.")}: expected .*, got (5|"\\?").*; (${CORRECT}|${UPDATE})$`);
      expect(await faultIn(wrong)).toMatch(another);
    }
    // A line that a shop writes may lack fields.
    if (await faultInImport(withValue(undefined))) expect(await faultInCommands(withValue(undefined))).toBeDefined();
  });
});

it("may state a configuration with another version of the encoder, and without an option that came later", () => {
  const { pageAttributes: _, ...earlier } = { ...config, encoder: { dimension: 16, version: 2 } };
  for (const line of [
    { ...KINDS.model, config: earlier },
    { ...KINDS.configuration, content: earlier },
  ])
    expect(v.is(logLine, line)).toBe(true);
});

it("is described in docs/log.md as `npm run options` writes it", async () => {
  const page = await readFile("docs/log.md", "utf8");
  const [head, rows] = logTable();
  expect(withTables(page, { "log-fields": table(head, rows, head.length) })).toBe(page);
});

it.each<[kind: string, fields: object, fault: string]>([
  ["model", { format: 2 }, `format: expected 1, got 2; ${UPDATE}`],
  ["model", { lines: undefined }, `lines: required: expected a number, got nothing; ${CORRECT}`],
  ["model", { exportedAt: 2 ** 47 + 1 }, `exportedAt: expected at most ${2 ** 47}, got ${2 ** 47 + 1}; ${CORRECT}`],
  ["model", { shards: 33 }, `shards: expected at most 32, got 33; ${CORRECT}`],
  ["model", { archive: [null] }, `archive.0: expected an object, got null; ${CORRECT}`],
  ["end", { lines: -1 }, `lines: expected at least 0, got -1; ${CORRECT}`],
  ["impression", { seq: 1.5 }, `seq: expected a whole number, got 1.5; ${CORRECT}`],
  ["impression", { id: "" }, `id: expected at least 1 character, got ""; ${CORRECT}`],
  ["impression", { state: "lost" }, `state: expected "live" or "deferred" or "void", got "lost"; ${UPDATE}`],
  ["impression", { features: [0.5, null] }, `features.1: expected a number, got null; ${CORRECT}`],
  ["impression", { sampling: 17 }, `sampling: expected at most 16, got 17; ${CORRECT}`],
  ["impression", { decision: { ...decision, place: 100 } }, `decision.place: expected at most 99, got 100; ${CORRECT}`],
  ["impression", { decision: { ...decision, probability: 0 } }, `decision.probability: expected more than 0, got 0; ${CORRECT}`],
  ["impression", { decision: { ...decision, asked: { exclude: 1 } } }, `decision.asked.exclude: expected a list, got 1; ${CORRECT}`],
  ["conversion", { goal: "" }, `goal: expected 1 to 64 letters, digits or . : - _, got ""; ${CORRECT}`],
  ["actions", { content: { size: 1, changed: [[0, {}]] } }, `content.changed.0.1.id: required: expected a text, got nothing; ${CORRECT}`],
  ["configuration", { content: { window: { ms: 0 } } }, `content.window.ms: expected at least 1, got 0; ${CORRECT}`],
  ["configuration", { content: { goals: { order: 1 } } }, `content.goals.order: expected an object, got 1; ${CORRECT}`],
  ["configuration", { content: { holdout: 0.6 } }, `content.holdout: expected at most 0.5, got 0.6; ${CORRECT}`],
  ["relearnt", { content: { config: { holdout: 2 } } }, `content.config.holdout: expected at most 0.5, got 2; ${CORRECT}`],
  ["merged", { content: { shards: [0, -1] } }, `content.shards.1: expected at least 0, got -1; ${CORRECT}`],
])("a line of %s with %j is refused by one sentence", async (kind, fields, fault) => {
  const line = whole({ ...KINDS[kind], ...fields });
  expect(await faultInCommands(line)).toBe(fault);
  expect(await faultInImport(line)).toBe(fault);
});

it.each<[name: string, text: string, fault: string]>([
  [
    "of a later kind",
    '{"type":"joke"}',
    `type: expected "impression" or "conversion" or "erased" or "mark" or "model" or "end", got "joke"; ${UPDATE}`,
  ],
  [
    "with a later mark",
    '{"type":"mark","seq":7,"mark":"joke","content":{}}',
    `mark: expected "configuration" or "actions" or "snapshot" or "relearnt" or "merged" or "rollback" or "erasure", got "joke"; ${UPDATE}`,
  ],
  ["that is no object", "5", `expected an object, got 5; ${UPDATE}`],
  [
    "with an infinite reward",
    JSON.stringify(KINDS.conversion).replace('"reward":1', '"reward":1e999'),
    `reward: expected a finite number, got Infinity; ${CORRECT}`,
  ],
])("a line %s is refused by one sentence", async (_, text, fault) => {
  expect(await faultInCommands(text)).toBe(fault);
  expect(await faultInImport(text)).toBe(fault);
});
