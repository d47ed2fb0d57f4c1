import { createHash } from "node:crypto";

/** A publication by its parts: SHA-256 of the rest, length of the header, the header as JSON, the snapshot, perhaps more. */
export function publicationOf(header: object, snapshot: Uint8Array): Uint8Array<ArrayBuffer> {
  const text = Buffer.from(JSON.stringify({ format: 1, schema: 1, lengths: [snapshot.length], ...header }));
  const length = Buffer.alloc(4);
  length.writeUInt32BE(text.length);
  const rest = Buffer.concat([length, text, snapshot]);
  return new Uint8Array(Buffer.concat([createHash("sha256").update(rest).digest(), rest]));
}
