import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { run } from "../../../../cli/verify.ts";
import { encodeFile } from "../../../../worker/domain/archive/archive-file.ts";
import type { EventLine } from "../../../../worker/domain/log/log-line.ts";
import { sealed } from "../../../support/logs/log-lines.ts";
import { config, configuration, conversionOf, DAY_MS, headOf, impressionAt, START } from "../../../support/logs/registered-log.ts";
import { ran } from "../../../support/ran.ts";

// The command `verify`, as it is called.

const HOUR_MS = 3_600_000;
const reached = { reward: 1, converted: true };
const first = [configuration, impressionAt(2, 1, START, reached), conversionOf(3, START, START + HOUR_MS)];

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "verify-"));
});
afterAll(() => rm(folder, { recursive: true }));

async function logOf(lines: readonly object[]): Promise<string> {
  const file = join(folder, "log.jsonl");
  await writeFile(
    file,
    sealed(lines)
      .map((line) => `${line}\n`)
      .join(""),
  );
  return file;
}

/** A folder with the archive of the first day. */
async function archive(): Promise<string> {
  const head = { model: "shop", generation: START, from: START, until: START + DAY_MS, whole: 4, version: 3 };
  const encoded = await encodeFile(head, first as unknown as EventLine[], async () => {});
  const name = join(folder, "archive", "model=shop");
  await mkdir(name, { recursive: true });
  await writeFile(join(name, "0000.parquet"), encoded?.bytes ?? "");
  await writeFile(join(name, "notes.txt"), "no rows");
  return join(folder, "archive");
}

it("tells what it has verified", async () => {
  expect(await ran(run, await logOf([headOf(3, 3), ...first]))).toEqual({
    ...{ code: 0, stderr: "" },
    stdout:
      "3 events of model shop, up to event 3: all verified\n" +
      "  0 decisions with probabilities, 1 conversion, 0 digests\n" +
      "  1 impression decided elsewhere: only the learning is verified\n",
  });
});

it("leaves out what a log does not have", async () => {
  const { stdout } = await ran(run, await logOf([headOf(1, 1), configuration]));
  expect(stdout).toBe("1 event of model shop, up to event 1: all verified\n  0 decisions with probabilities, 0 conversions, 0 digests\n");
});

it("tells of impressions that were decided before the model learnt its log again", async () => {
  const log = (digest: string) => [headOf(4, 4), ...first, { type: "mark", seq: 4, mark: "relearnt", content: { config, digest } }];
  const { stderr } = await ran(run, await logOf(log("other")));
  const [, digest] = /digest: expected (\w+), got other/.exec(stderr) as RegExpExecArray;
  expect((await ran(run, await logOf(log(digest)))).stdout.split("\n").slice(1, -1)).toEqual([
    "  0 decisions with probabilities, 1 conversion, 1 digest",
    "  1 impression decided before the model learnt its log again: only the learning is verified",
  ]);
});

it("verifies an archive before a log, and alone", async () => {
  const later = [headOf(1, 4, { horizon: START + DAY_MS }), impressionAt(4, 2, START + DAY_MS)];
  const log = await logOf(later);
  const alone = await ran(run, log);
  expect([alone.code, alone.stderr]).toEqual([1, expect.stringMatching(/^Not verified: expected a complete log, .*--archive\n$/)]);
  const whole = await ran(run, log, "--archive", await archive());
  expect([whole.code, whole.stdout.split("\n")[0]]).toEqual([0, "4 events of model shop, up to event 4: all verified"]);
  const only = await ran(run, await archive());
  expect([only.code, only.stdout.split("\n")[0]]).toEqual([0, "3 events of model shop, up to event 3: all verified"]);
});

it("names the first event that differs, with exit code 1", async () => {
  const log = await logOf([headOf(3, 3), ...first.with(1, impressionAt(2, 1, START))]);
  expect(await ran(run, log)).toEqual({
    ...{ code: 1, stdout: "" },
    stderr: `Not verified: event 2, impression ${impressionAt(2, 1, START).id}: reward: expected 1, got null\n`,
  });
});

it("says that an archive or a log cannot be read", async () => {
  const broken = join(folder, "broken");
  await mkdir(broken, { recursive: true });
  await writeFile(join(broken, "a.parquet"), "none");
  expect((await ran(run, broken)).stderr).toMatch(/^Not verified: \S+a\.parquet: cannot be read, download it again: [^\n]*\n$/);
  expect((await ran(run, join(folder, "missing"))).stderr).toMatch(/^Cannot read the log: ENOENT[^\n]*\n$/);
});
