// Feature vectors as bytes, without their zeros.
// Nearly all feature vectors are multiples of 2^-12 between -8 and 8, and many have few components other than 0. Their components are
// 16-bit integers in a blob of odd length. Its last byte says which: all components, or those that are not 0 after a bitmap of them.
// A blob of any other vector has 8 bytes for each component.

import { RESOLUTION } from "afterclick/research";

const ALL = 0;
const NONZERO = 1;
/** A component of 1 as a 16-bit integer in the upper half of 32 bits. */
const UNITS = 65536 * RESOLUTION;
/** Most components of a row in a block. */
const MOST = 8192;

/** The components of the vector at hand. Reused, because a new buffer takes as long as the components. */
const workspace = new Int16Array(MOST);

export function toBlob(features: Float64Array): ArrayBuffer {
  const units = features.length > MOST ? new Int16Array(features.length) : workspace;
  let nonzero = 0;
  for (let i = 0; i < features.length; i++) {
    const unit = features[i] * RESOLUTION;
    units[i] = unit;
    // Object.is tells -0 from 0.
    if (!Object.is(units[i] + 0, unit)) return features.slice().buffer;
    if (unit !== 0) nonzero++;
  }
  const head = headLength(features.length);
  const length = head + 2 * nonzero;
  if (length >= 2 * features.length) return withTag(ALL, new Uint8Array(units.buffer, 0, 2 * features.length));
  const bytes = new Uint8Array(length + 1);
  bytes[0] = features.length;
  bytes[1] = features.length >> 8;
  bytes[length] = NONZERO;
  for (let i = 0, at = head; i < features.length; i++) {
    const unit = units[i];
    if (unit === 0) continue;
    bytes[2 + (i >> 3)] |= 1 << (i & 7);
    bytes[at++] = unit;
    bytes[at++] = unit >> 8;
  }
  return bytes.buffer;
}

export function fromBlob(blob: ArrayBuffer): Float64Array<ArrayBuffer> {
  return featuresAt(new Uint8Array(blob), 0, blob.byteLength);
}

/** Reads the blob between two places. Components that are cut off are NaN, which no policy accepts. */
export function featuresAt(bytes: Uint8Array<ArrayBuffer>, from: number, to: number): Float64Array<ArrayBuffer> {
  const end = to - 1;
  if ((end - from) % 2 !== 0) return new Float64Array(bytes.slice(from, to).buffer);
  // Typed arrays over parts of the bytes would take longer than the components.
  const valueAt = (at: number): number => (at < end ? ((bytes[at] | (bytes[at + 1] << 8)) << 16) / UNITS : Number.NaN);
  if (bytes[end] === ALL) return Float64Array.from({ length: (end - from) / 2 }, (_, i) => valueAt(from + 2 * i));
  const features = new Float64Array(bytes[from] | (bytes[from + 1] << 8));
  let at = from + headLength(features.length);
  for (let i = 0, place = from + 2; i < features.length; i += 8, place++) {
    for (let mask = bytes[place], j = i; mask !== 0; mask >>= 1, j++) {
      if ((mask & 1) === 0) continue;
      features[j] = valueAt(at);
      at += 2;
    }
  }
  return features;
}

function withTag(tag: number, bytes: Uint8Array): ArrayBuffer {
  const tagged = new Uint8Array(bytes.length + 1);
  tagged.set(bytes);
  tagged[bytes.length] = tag;
  return tagged.buffer;
}

/** Bytes before the components that are not 0: the number of all components, and a bitmap of an even length. */
function headLength(components: number): number {
  return 2 + 2 * Math.ceil(components / 16);
}
