// The bytes of snapshots: header, sections and checksum. It does not know what the sections mean.
// A snapshot, or a publication, is one little-endian buffer. Every section is aligned to 8 bytes:
//
//   0  u32  magic of its kind      32  u32  version of the policy's state
//   4  u32  format version         36  u32  d, features per impression
//   8  24 B policy id, ASCII       40  f64  n, impressions appended
//                                  48  f64  length of the whole buffer in bytes
//                                  56  u64  digest of all other bytes
//  64  body: a sequence of sections, each an f64 count and a payload, padded to 8 bytes

import type { Core } from "../core/core.ts";
import { wrongType } from "./argument.ts";
import { SnapshotError } from "./errors.ts";

/** All state, from which a recommender goes on learning, or the part that decisions need. */
type Kind = "snapshot" | "publication";

/** "aftc" and "aftp". */
const MAGIC: Readonly<Record<Kind, number>> = { snapshot: 0x63746661, publication: 0x70746661 };
const FORMAT_VERSION = 2;
const HEADER_BYTES = 64;
const POLICY_ID_BYTES = 24;
const DIGEST_OFFSET = 56;

export interface SnapshotHeader {
  readonly kind: Kind;
  readonly policyId: string;
  readonly stateVersion: number;
  /** Features per impression (d). */
  readonly dimension: number;
  /** Impressions appended so far (n). */
  readonly impressions: number;
}

/** No bitwise operation: those wrap at 2^32, and a count is not yet checked. */
const padded = (bytes: number): number => Math.ceil(bytes / 8) * 8;

/** Collects the sections of a snapshot or a publication. */
export class SnapshotWriter {
  readonly #sections: { readonly count: number; readonly bytes: Uint8Array }[] = [];

  /**
   * Writes a section for each array. `finish` copies a Float64Array, not this method. It may be a view of the core's memory, if no
   * call of the core comes between.
   */
  numbers(...arrays: readonly ArrayLike<number>[]): void {
    for (const values of arrays) {
      const { buffer, byteOffset, byteLength } = values instanceof Float64Array ? values : new Float64Array(values);
      // A typed array has the byte order of the host, and every host with WebAssembly is little-endian.
      this.#sections.push({ count: values.length, bytes: new Uint8Array(buffer, byteOffset, byteLength) });
    }
  }

  json(value: unknown): void {
    const bytes = new TextEncoder().encode(JSON.stringify(value));
    this.#sections.push({ count: bytes.length, bytes });
  }

  finish(core: Core, header: SnapshotHeader): Uint8Array {
    const length = this.#sections.reduce((sum, { bytes }) => sum + 8 + padded(bytes.length), HEADER_BYTES);
    const bytes = new Uint8Array(length);
    const view = new DataView(bytes.buffer);
    view.setUint32(0, MAGIC[header.kind], true);
    view.setUint32(4, FORMAT_VERSION, true);
    new TextEncoder().encodeInto(header.policyId, bytes.subarray(8, 8 + POLICY_ID_BYTES));
    view.setUint32(32, header.stateVersion, true);
    view.setUint32(36, header.dimension, true);
    view.setFloat64(40, header.impressions, true);
    view.setFloat64(48, length, true);
    let next = HEADER_BYTES;
    for (const section of this.#sections) {
      view.setFloat64(next, section.count, true);
      bytes.set(section.bytes, next + 8);
      next += 8 + padded(section.bytes.length);
    }
    view.setBigUint64(DIGEST_OFFSET, digestOf(core, bytes), true);
    return bytes;
  }
}

/** Checks the header of a snapshot or a publication, then reads its sections. Every read checks bounds. */
export class SnapshotReader {
  readonly header: SnapshotHeader;
  readonly #bytes: Uint8Array;
  readonly #core: Core;
  #offset = HEADER_BYTES;

  /**
   * Checks length, magic, format version, stated length and digest, in that order.
   * @throws {SnapshotError} code `truncated`, `magic`, `version` or `checksum`.
   */
  constructor(core: Core, source: Uint8Array) {
    if (!(source instanceof Uint8Array)) throw wrongType("bytes", "a Uint8Array", source);
    // Each section is copied when it is read. A copy of all bytes is only needed for numbers at addresses that are no multiple of 8.
    // The `slice` of a Buffer would be no copy.
    const bytes = source.byteOffset % 8 === 0 ? source : new Uint8Array(source);
    if (bytes.length < HEADER_BYTES) {
      throw new SnapshotError("truncated", `expected a snapshot of at least ${HEADER_BYTES} bytes, got ${bytes.length}`);
    }
    const view = dataView(bytes);
    const magic = view.getUint32(0, true);
    if (magic !== MAGIC.snapshot && magic !== MAGIC.publication) {
      throw new SnapshotError("magic", "expected an afterclick snapshot or publication, got other bytes");
    }
    const version = view.getUint32(4, true);
    if (version !== FORMAT_VERSION) {
      const formats = `expected snapshot format ${FORMAT_VERSION}, got ${version}`;
      throw new SnapshotError("version", `${formats}: restore it with the afterclick version that made it`);
    }
    const length = view.getFloat64(48, true);
    if (length !== bytes.length) {
      throw new SnapshotError("truncated", `expected ${length} bytes, as the header says, got ${bytes.length}`);
    }
    if (view.getBigUint64(DIGEST_OFFSET, true) !== digestOf(core, bytes)) {
      throw new SnapshotError("checksum", "expected the checksum in the header, got another: the bytes were altered");
    }
    this.#bytes = bytes;
    this.#core = core;
    this.header = {
      kind: magic === MAGIC.snapshot ? "snapshot" : "publication",
      policyId: new TextDecoder().decode(bytes.subarray(8, 8 + POLICY_ID_BYTES)).replace(/\0+$/, ""),
      stateVersion: view.getUint32(32, true),
      dimension: view.getUint32(36, true),
      impressions: view.getFloat64(40, true),
    };
  }

  #section(bytesPerItem: number): { start: number; count: number } {
    const start = this.#offset + 8;
    if (start > this.#bytes.length) throw malformed();
    const count = dataView(this.#bytes).getFloat64(this.#offset, true);
    if (!Number.isSafeInteger(count) || count < 0 || start + padded(count * bytesPerItem) > this.#bytes.length) throw malformed();
    this.#offset = start + padded(count * bytesPerItem);
    return { start, count };
  }

  /** Reads a section of finite numbers: exactly `length` of them, or any number. */
  numbers(length?: number): Float64Array {
    return this.view(length).slice();
  }

  /** `numbers` without a copy, for a caller that copies them. */
  view(length?: number): Float64Array {
    const { start, count } = this.#section(8);
    if (length !== undefined && count !== length) throw malformed();
    const values = new Float64Array(this.#bytes.buffer, this.#bytes.byteOffset + start, count);
    if (!this.#core.areFinite(values)) throw malformed();
    return values;
  }

  json(): unknown {
    const { start, count } = this.#section(1);
    return JSON.parse(new TextDecoder().decode(this.#bytes.subarray(start, start + count)));
  }

  /** Reads a list of texts. */
  texts(): string[] {
    const value = this.json();
    if (!Array.isArray(value) || !value.every((each) => typeof each === "string")) throw malformed();
    return value;
  }

  end(): void {
    if (this.#offset !== this.#bytes.length) throw malformed();
  }
}

export function malformed(): SnapshotError {
  return new SnapshotError("malformed", "the snapshot's contents do not fit together");
}

/** The greatest count in a snapshot. Beyond 2^53 a count plus one is no whole number. */
const MOST_COUNTED = 4503599627370496;

/** Checks a count from a snapshot. @throws {SnapshotError} code `malformed`, naming the count. */
export function counted(name: string, value: unknown, most = MOST_COUNTED, least = 0): number {
  if (Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most) return value as number;
  throw new SnapshotError("malformed", `${name}: expected a whole number between ${least} and ${most}, got ${value}`);
}

const dataView = ({ buffer, byteOffset, byteLength }: Uint8Array): DataView => new DataView(buffer, byteOffset, byteLength);

/** The checksum of all bytes except the digest itself. */
function digestOf(core: Core, bytes: Uint8Array): bigint {
  return BigInt(`0x${core.checksum(bytes.subarray(0, DIGEST_OFFSET), bytes.subarray(HEADER_BYTES))}`);
}
