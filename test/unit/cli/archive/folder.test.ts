import { createHash } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { archiveIn, headOf } from "../../../../cli/archive/folder.ts";
import { encodeFile } from "../../../../worker/domain/archive/archive-file.ts";
import type { EventLine } from "../../../../worker/domain/log/log-line.ts";
import { whole } from "../../../support/logs/log-lines.ts";
import { DAY_MS, START } from "../../../support/logs/registered-log.ts";

// The archive of a model, as it lies in a folder.

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "afterclick-archive-"));
});
afterAll(() => rm(folder, { recursive: true }));

async function put(name: string, seqs: readonly number[], day: number, head: object = {}): Promise<Uint8Array> {
  const lines = seqs.map((seq) => whole({ type: "mark", seq, mark: "snapshot", content: {} }) as unknown as EventLine);
  const until = START + (day + 1) * DAY_MS;
  const described = { model: "shop", generation: START, from: START + day * DAY_MS, until, whole: 1, version: 9, ...head };
  const bytes = (await encodeFile(described, lines, async () => {}))?.bytes ?? new Uint8Array();
  await mkdir(join(folder, name, ".."), { recursive: true });
  await writeFile(join(folder, name), bytes);
  return bytes;
}

it("is made of all Parquet files, however deep they lie, with their digests", async () => {
  await put("one/day=2/0000.parquet", [4, 5], 1);
  const bytes = await put("one/day=1/0000.parquet", [1, 2, 3], 0);
  await writeFile(join(folder, "one/manifest.json"), "{}");
  const archive = await archiveIn(join(folder, "one"));
  expect(archive.files.map(({ name }) => name)).toEqual(["day=1", "day=2"].map((day) => join(folder, "one", day, "0000.parquet")));
  expect(archive.rows).toBe(5);
  expect(await archive.files[0].sha256()).toBe(createHash("sha256").update(bytes).digest("hex"));
  const seqs: number[] = [];
  for await (const { seq } of archive.lines()) seqs.push(seq);
  expect(seqs).toEqual([1, 2, 3, 4, 5]);
});

it("names a file that is damaged", async () => {
  await put("two/good.parquet", [1], 0);
  await writeFile(join(folder, "two/bad.parquet"), "PAR1");
  await expect(archiveIn(join(folder, "two"))).rejects.toThrow(
    `${join(folder, "two/bad.parquet")}: cannot be read, download it again: expected a whole Parquet file`,
  );
});

it("of one shard is not that of a whole model", async () => {
  await put("three/0000.parquet", [1], 0, { model: "shop~1" });
  const archive = await archiveIn(join(folder, "three"));
  expect(() => headOf(archive)).toThrow("expected the archive of a whole model, got that of its shard 1; its decisions need the others");
});

it("without files has no head", async () => {
  await mkdir(join(folder, "four"));
  const archive = await archiveIn(join(folder, "four"));
  expect(() => headOf(archive)).toThrow("expected the archive of one generation of a model, got no files");
});
