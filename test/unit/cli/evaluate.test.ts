import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Answer, answersTo } from "../../support/calls.ts";
import { textsOf } from "../../support/logs/log-lines.ts";
import { actions, configuration } from "../../support/logs/shop-log.ts";

// The command `evaluate`, as it is called.

const [FIRST, END] = [Date.UTC(2026, 0, 1), Date.UTC(2026, 0, 8)];
const decision = { score: 0, mean: 0, width: 0, probability: 0.5, place: 0, candidates: 2 };
const shown = { type: "impression", state: "live", arm: "policy", version: 2, context: {}, decision, features: [] };
const log = [
  { type: "model", model: "shop", generation: 1, horizon: 0, lines: 42, exportedAt: END },
  configuration,
  actions,
  ...Array.from({ length: 40 }, (_, i) => {
    return { ...shown, seq: 3 + i, id: `i${i}`, action: i % 2 ? "hat" : "boots", shownAt: FIRST + 3_600_000 * i };
  }),
];
const rows = ["2026-01-01T00:00:00Z,0,1,0,0.5,young,0.0,0.0", "2026-01-02T00:00:00Z,1,1,1,0.5,young,0.0,0.0"];
const csv = ["timestamp,item_id,position,click,propensity_score,user_feature_0,user-item_affinity_0,user-item_affinity_1", ...rows];

const TIMES: readonly (readonly [name: string, file: string, asOf: string, expected: { code: number; stderr: string }])[] = [
  ["the end of a log", "log.jsonl", String(END), { code: 0, stderr: "" }],
  ["a time in a log", "log.jsonl", "2026-01-02T12:00:00Z", { code: 0, stderr: "" }],
  ["any time after a log whose clicks are final", "log.csv", "2030-01-01T00:00:00Z", { code: 0, stderr: "" }],
  [
    "no time after the end of a log",
    "log.jsonl",
    String(END + 1),
    { code: 1, stderr: "--as-of: expected a time up to the end of the log, 2026-01-08T00:00:00.000Z, got 2026-01-08T00:00:00.001Z" },
  ],
  [
    "no time before the first decision",
    "log.jsonl",
    "30",
    { code: 1, stderr: "--as-of: expected a time from the first decision on, 2026-01-01T00:00:00.000Z, got 1970-01-01T00:00:00.030Z" },
  ],
];

let folder: string;
let answers: readonly Answer[];
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "evaluate-"));
  await writeFile(
    join(folder, "log.jsonl"),
    textsOf(log)
      .map((text) => `${text}\n`)
      .join(""),
  );
  await writeFile(join(folder, "log.csv"), `${csv.join("\n")}\n`);
  const called = (file: string, asOf: string) => ["evaluate", join(folder, file), "--policy", "uniform", "--as-of", asOf];
  answers = await answersTo(TIMES.map(([, file, asOf]) => ({ file: "cli/afterclick.ts", args: called(file, asOf) })));
});
afterAll(() => rm(folder, { recursive: true }));

it.each(TIMES.map(([name, , , expected], place) => [name, expected, place] as const))("--as-of takes %s", (_, expected, place) => {
  expect(answers[place]).toMatchObject({ code: expected.code, stderr: expect.stringContaining(expected.stderr) });
});
