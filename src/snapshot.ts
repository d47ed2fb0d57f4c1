import type { Core } from "./core/core.ts";
import { SnapshotError } from "./errors.ts";

// A snapshot is one little-endian buffer, every field 8-byte aligned:
//
//   0  u32  magic "aftc"           32  u32  version of the policy's state
//   4  u32  format version         36  u32  d, features per impression
//   8  24 B policy id, ASCII       40  f64  n, impressions appended
//                                  48  f64  length of the whole buffer in bytes
//                                  56  u64  digest of everything else
//  64  body: a sequence of sections, each an f64 count followed by its payload padded to 8 bytes

const MAGIC = 0x63746661;
const FORMAT_VERSION = 1;
const HEADER_BYTES = 64;
const POLICY_ID_BYTES = 24;
const DIGEST_OFFSET = 56;

export interface SnapshotHeader {
  readonly policyId: string;
  readonly stateVersion: number;
  /** Features per impression (d). */
  readonly dimension: number;
  /** Impressions appended so far (n). */
  readonly impressions: number;
}

const padded = (bytes: number): number => (bytes + 7) & ~7;

/** Writes the body of a snapshot section by section. */
export class SnapshotWriter {
  #bytes = new Uint8Array(4096);
  #length = HEADER_BYTES;

  #reserve(count: number, bytes: number): number {
    const start = this.#length;
    this.#length = start + 8 + padded(bytes);
    if (this.#length > this.#bytes.length) {
      const grown = new Uint8Array(Math.max(this.#length, 2 * this.#bytes.length));
      grown.set(this.#bytes.subarray(0, start));
      this.#bytes = grown;
    }
    new DataView(this.#bytes.buffer).setFloat64(start, count, true);
    return start + 8;
  }

  numbers(values: ArrayLike<number>): void {
    const start = this.#reserve(values.length, 8 * values.length);
    // A typed array has the host's byte order; every host that runs WebAssembly engines is little-endian.
    new Float64Array(this.#bytes.buffer, start, values.length).set(values);
  }

  json(value: unknown): void {
    const text = new TextEncoder().encode(JSON.stringify(value));
    const start = this.#reserve(text.length, text.length);
    this.#bytes.set(text, start);
  }

  finish(core: Core, header: SnapshotHeader): Uint8Array {
    const bytes = this.#bytes.slice(0, this.#length);
    const view = new DataView(bytes.buffer);
    view.setUint32(0, MAGIC, true);
    view.setUint32(4, FORMAT_VERSION, true);
    new TextEncoder().encodeInto(header.policyId, bytes.subarray(8, 8 + POLICY_ID_BYTES));
    view.setUint32(32, header.stateVersion, true);
    view.setUint32(36, header.dimension, true);
    view.setFloat64(40, header.impressions, true);
    view.setFloat64(48, bytes.length, true);
    view.setBigUint64(DIGEST_OFFSET, digestOf(core, bytes), true);
    return bytes;
  }
}

/** Reads a snapshot after its header was found good; every read is bounds-checked. */
export class SnapshotReader {
  readonly header: SnapshotHeader;
  readonly #bytes: Uint8Array;
  #offset = HEADER_BYTES;

  /**
   * Checks length, magic, format version, stated length and digest, in that order.
   * @throws {SnapshotError} code `truncated`, `magic`, `version` or `checksum`.
   */
  constructor(core: Core, source: Uint8Array) {
    if (!(source instanceof Uint8Array)) throw new TypeError("bytes: expected a Uint8Array");
    const bytes = source.slice();
    if (bytes.length < HEADER_BYTES) {
      throw new SnapshotError("truncated", `a snapshot has at least ${HEADER_BYTES} bytes, this has ${bytes.length}`);
    }
    const view = new DataView(bytes.buffer);
    if (view.getUint32(0, true) !== MAGIC) throw new SnapshotError("magic", "these bytes are not an afterclick snapshot");
    const version = view.getUint32(4, true);
    if (version !== FORMAT_VERSION) {
      throw new SnapshotError("version", `snapshot format ${version} is not the format ${FORMAT_VERSION} of this version`);
    }
    const length = view.getFloat64(48, true);
    if (length !== bytes.length) {
      throw new SnapshotError("truncated", `the snapshot states ${length} bytes, ${bytes.length} came`);
    }
    if (view.getBigUint64(DIGEST_OFFSET, true) !== digestOf(core, bytes)) {
      throw new SnapshotError("checksum", "the snapshot was altered: its checksum does not match");
    }
    this.#bytes = bytes;
    this.header = {
      policyId: new TextDecoder().decode(bytes.subarray(8, 8 + POLICY_ID_BYTES)).replace(/\0+$/, ""),
      stateVersion: view.getUint32(32, true),
      dimension: view.getUint32(36, true),
      impressions: view.getFloat64(40, true),
    };
  }

  #section(bytesPerItem: number): { start: number; count: number } {
    const start = this.#offset + 8;
    if (start > this.#bytes.length) throw malformed();
    const count = new DataView(this.#bytes.buffer).getFloat64(this.#offset, true);
    if (!Number.isSafeInteger(count) || count < 0 || start + padded(count * bytesPerItem) > this.#bytes.length) throw malformed();
    this.#offset = start + padded(count * bytesPerItem);
    return { start, count };
  }

  /** Reads finite numbers: `length` of them, or as many as there are. */
  numbers(length?: number): Float64Array {
    const { start, count } = this.#section(8);
    if (length !== undefined && count !== length) throw malformed();
    const values = new Float64Array(this.#bytes.buffer, start, count).slice();
    if (!values.every(Number.isFinite)) throw malformed();
    return values;
  }

  json(): unknown {
    const { start, count } = this.#section(1);
    return JSON.parse(new TextDecoder().decode(this.#bytes.subarray(start, start + count)));
  }

  end(): void {
    if (this.#offset !== this.#bytes.length) throw malformed();
  }
}

export function malformed(): SnapshotError {
  return new SnapshotError("malformed", "the snapshot's contents do not fit together");
}

function digestOf(core: Core, bytes: Uint8Array): bigint {
  const copy = bytes.slice();
  copy.fill(0, DIGEST_OFFSET, DIGEST_OFFSET + 8);
  return BigInt(`0x${core.digest(copy)}`);
}
