import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { asyncBufferFromFile } from "hyparquet";
import { ArchiveFile } from "../../worker/domain/archive/archive-file.ts";
import { shardOf } from "../../worker/domain/ids/shard.ts";
import { type HeadLine, LogMismatch } from "../log/event-line.ts";
import { ArchivedLog } from "./whole-log.ts";

/** Opens all Parquet files below a folder, and reads only their ends. @throws {ArchiveError} naming a file that is damaged or cut short. */
export async function archiveIn(folder: string): Promise<ArchivedLog> {
  const names = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith(".parquet")).toSorted();
  const files = [];
  for (const name of names.map((each) => join(folder, each))) {
    const file = await ArchiveFile.open(name, await asyncBufferFromFile(name));
    files.push({ name, file, sha256: () => digestOf(name) });
  }
  return new ArchivedLog(files);
}

async function digestOf(name: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(name), hash);
  return hash.digest("hex");
}

/** The head of a log that has nothing but an archive. @throws {LogMismatch} unless its files are of one generation of one model. */
export function headOf({ files, rows }: ArchivedLog): HeadLine {
  const heads = files.map(({ file }) => file.head);
  const generations = new Set(heads.map(({ model, generation }) => `model=${model}/generation=${generation}`));
  if (generations.size !== 1)
    throw new LogMismatch(`expected the archive of one generation of a model, got ${Array.from(generations).join(", ") || "no files"}`);
  const [{ model, generation }] = heads;
  const { shard } = shardOf(model);
  if (shard > 0)
    throw new LogMismatch(`expected the archive of a whole model, got that of its shard ${shard}; its decisions need the others`);
  const horizon = Math.max(...heads.map(({ until }) => until));
  const modelVersion = Math.max(...heads.map(({ last }) => last));
  const head = { type: "model", model, generation, horizon, modelVersion, after: 0, lines: rows, exportedAt: horizon, digest: null };
  return head as unknown as HeadLine;
}
