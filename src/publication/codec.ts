// The bytes of a publication: header, parts and checksum. It does not know what the parts mean.
// A publication is what a learner gives to isolates and to pages: a header as JSON, and the bytes of each policy for
// `Recommender.restore`. Layout: SHA-256 of the rest (32 bytes), length of the header (uint32, big-endian), header, policies.

import { SnapshotError } from "afterclick";

const FORMAT = 1;
/** Version of the meaning of features. It rises when the same request gives other vectors. */
const FEATURE_SCHEMA = 3;
const DIGEST_BYTES = 32;
const HEADER_AT = DIGEST_BYTES + 4;

interface Decoded {
  readonly header: object;
  readonly parts: Uint8Array[];
}

/**
 * The versions of a publication that are read: each reader gives header and parts as the newest version states them. A new version adds its
 * own reader, and that of the version before makes the new form of its header and of the policies. So pages and workers are deployed in
 * either order.
 */
const readers = () => new Map([[`${FORMAT}.${FEATURE_SCHEMA}`, (written: Decoded): Decoded => written]]);

/** Encodes a header, and the bytes of each policy. */
export async function encode(header: object, parts: readonly Uint8Array[]): Promise<Uint8Array<ArrayBuffer>> {
  const lengths = parts.map(({ length }) => length);
  const text = new TextEncoder().encode(JSON.stringify({ format: FORMAT, schema: FEATURE_SCHEMA, lengths, ...header }));
  let offset = HEADER_AT + text.length;
  const bytes = new Uint8Array(lengths.reduce((sum, length) => sum + length, offset));
  new DataView(bytes.buffer).setUint32(DIGEST_BYTES, text.length);
  bytes.set(text, HEADER_AT);
  for (const part of parts) {
    bytes.set(part, offset);
    offset += part.length;
  }
  bytes.set(await digestOf(bytes), 0);
  return bytes;
}

/**
 * Decodes a publication. The parts are copies.
 *
 * @throws {SnapshotError} code `truncated` or `checksum` if the bytes are damaged, `version` if another version of this module wrote
 * them, `malformed` if another program did.
 */
export async function decode<Header>(bytes: Uint8Array<ArrayBuffer>) {
  if (bytes.length < HEADER_AT) throw new SnapshotError("truncated", `expected a publication, got ${bytes.length} bytes`);
  const digest = await digestOf(bytes);
  if (digest.some((byte, i) => byte !== bytes[i])) throw new SnapshotError("checksum", "the publication does not match its checksum");
  let offset = HEADER_AT + new DataView(bytes.buffer, bytes.byteOffset).getUint32(DIGEST_BYTES);
  const { format, schema, lengths, ...header } = parsed(bytes.subarray(HEADER_AT, offset));
  const read = readers().get(`${format}.${schema}`);
  if (!read) {
    const known = Array.from(readers().keys()).join(", ");
    throw new SnapshotError("version", `publication format ${format}.${schema} is none that this version reads: ${known}`);
  }
  // Checked before anything is copied.
  const counts = Array.isArray(lengths) && lengths.every((length) => Number.isSafeInteger(length) && length >= 0);
  if (!counts || lengths.reduce((sum, length) => sum + length, offset) !== bytes.length) throw malformed();
  const parts = (lengths as number[]).map((length) => {
    offset += length;
    return bytes.slice(offset - length, offset);
  });
  return read({ header, parts }) as { readonly header: Header; readonly parts: Uint8Array[] };
}

function parsed(text: Uint8Array) {
  try {
    return Object(JSON.parse(new TextDecoder().decode(text)));
  } catch {
    throw malformed();
  }
}

export function malformed(): SnapshotError {
  return new SnapshotError("malformed", "the publication's contents do not fit together");
}

async function digestOf(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes.subarray(DIGEST_BYTES)));
}
