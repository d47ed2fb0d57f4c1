import { env } from "cloudflare:workers";
import { afterAll, afterEach, beforeAll, beforeEach } from "vitest";
import { ArchiveFile, LIMITS } from "../../../worker/domain/archive/archive-file.ts";
import type { EventLine } from "../../../worker/domain/log/log-line.ts";

/** The limits of files outside tests. */
export const WHOLE = { ...LIMITS };

/** Binds the bucket as the archive of all models that start in this file. Its files and their row groups are small. */
export function useArchive(): void {
  beforeAll(() => void Object.assign(env, { ARCHIVE: env.BUCKET }));
  beforeEach(() => void Object.assign(LIMITS, { fileRows: 40, groupRows: 15 }));
  afterEach(() => void Object.assign(LIMITS, WHOLE));
  afterAll(() => void Object.assign(env, { ARCHIVE: undefined }));
}

/** Keys of a model's archived files, in order. */
export async function keysOf(model: string): Promise<string[]> {
  const { objects } = await env.BUCKET.list({ prefix: `model=${model}/` });
  return objects.map(({ key }) => key);
}

export async function bytesOf(key: string): Promise<Uint8Array<ArrayBuffer>> {
  const object = await env.BUCKET.get(key);
  if (!object) throw new Error(`expected ${key} in the bucket`);
  return new Uint8Array(await object.arrayBuffer());
}

export function opened(name: string, bytes: Uint8Array<ArrayBuffer>): Promise<ArchiveFile> {
  const slice = async (start: number, end?: number) => bytes.slice(start, end).buffer;
  return ArchiveFile.open(name, { byteLength: bytes.length, slice });
}

/** All archived lines of a model, file by file. */
export async function archivedLines(model: string): Promise<EventLine[]> {
  const lines: EventLine[] = [];
  for (const key of await keysOf(model)) lines.push(...(await linesOf(key)));
  return lines;
}

/** The lines of one file. */
export async function linesOf(key: string): Promise<EventLine[]> {
  const lines: EventLine[] = [];
  for await (const group of (await opened(key, await bytesOf(key))).groups()) lines.push(...group);
  return lines;
}
