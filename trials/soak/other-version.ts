import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { decode, encode } from "../../src/publication/codec.ts";

/** Byte of a snapshot that states its format. */
const FORMAT_AT = 4;

/**
 * Turns what a stopped worker has stored into what another version would have stored: all snapshots and publications have a format that
 * this version cannot read. Returns how many there were.
 */
export async function storeOtherFormat(state: string): Promise<number> {
  let changed = 0;
  for (const file of await readdir(state, { recursive: true, withFileTypes: true })) {
    if (!file.isFile()) continue;
    const path = join(file.parentPath, file.name);
    if (path.endsWith(".sqlite")) changed += inDatabase(path);
    else if (file.parentPath.endsWith("blobs")) changed += await inPublication(path);
  }
  return changed;
}

function inDatabase(path: string): number {
  const database = new DatabaseSync(path);
  try {
    const isLearner = database.prepare("SELECT 1 FROM sqlite_master WHERE name = 'snapshots'").all().length > 0;
    if (!isLearner) return 0;
    const rows = database.prepare("SELECT rowid, bytes FROM snapshots WHERE chunk = 0").all();
    const update = database.prepare("UPDATE snapshots SET bytes = ? WHERE rowid = ?");
    for (const { rowid, bytes } of rows) update.run(withOtherFormat(bytes as Uint8Array), rowid as number);
    return rows.length;
  } finally {
    database.close();
  }
}

async function inPublication(path: string): Promise<number> {
  const decoded = await decode<object>(new Uint8Array(await readFile(path))).catch(() => undefined);
  if (!decoded?.parts.length) return 0;
  await writeFile(path, await encode(decoded.header, decoded.parts.map(withOtherFormat)));
  return 1;
}

function withOtherFormat(snapshot: Uint8Array): Uint8Array {
  const copy = snapshot.slice();
  copy[FORMAT_AT]++;
  return copy;
}
