import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { vi } from "vitest";
import { decode, encode } from "../../../src/publication/codec.ts";
import { learnerOf } from "./client.ts";

/** Byte of a snapshot that states its format. */
const FORMAT_AT = 4;
const SNAPSHOTS = ["snapshots", "merged_snapshots", "shard_sums", "relearnt_snapshots"];

const withFormat = (bytes: Uint8Array<ArrayBuffer>, by: number): Uint8Array<ArrayBuffer> => {
  const copy = bytes.slice();
  copy[FORMAT_AT] += by;
  return copy;
};

/**
 * Deploys another version of the worker: for it, all that was saved of the learners of a model, and a newer publication in KV, has another format.
 * @param by of the format. The negative takes it back. @param learners their names, if there are shards.
 */
export async function deployOther(model: string, by = 1, learners: readonly string[] = [model]): Promise<void> {
  for (const name of learners) {
    await runInDurableObject(learnerOf(name), (_, { storage: { sql } }) => {
      for (const table of SNAPSHOTS) {
        const select = `SELECT rowid, bytes FROM ${table} WHERE chunk = 0`;
        for (const { rowid, bytes } of sql.exec<{ rowid: number; bytes: ArrayBuffer }>(select).toArray()) {
          sql.exec(`UPDATE ${table} SET bytes = ? WHERE rowid = ?`, withFormat(new Uint8Array(bytes), by), rowid);
        }
      }
    });
    await evictDurableObject(learnerOf(name));
  }
  const { value, metadata } = await env.EVENTS.getWithMetadata(`model/${model}`, "arrayBuffer");
  if (value === null) return;
  const { header, parts } = await decode<{ readonly version: number }>(new Uint8Array(value));
  const bytes = await encode(
    { ...header, version: header.version + 1 },
    parts.map((part) => withFormat(part as Uint8Array<ArrayBuffer>, by)),
  );
  await env.EVENTS.put(`model/${model}`, bytes, { metadata });
}

/** Lets the alarms of the learners of a model ring until a condition holds. */
export async function ringUntil(holds: () => Promise<boolean>, learners: readonly string[]): Promise<void> {
  for (let i = 0; i < 40 && !(await holds()); i++) {
    vi.setSystemTime(Date.now() + 5000);
    for (const name of learners) await runDurableObjectAlarm(learnerOf(name));
  }
}
