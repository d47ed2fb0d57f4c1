import { RESOLUTION } from "../../publication/featurizer.ts";

// Nearly all feature vectors are multiples of 2^-12 between -8 and 8, and many have few components other than 0. Their components are
// 16-bit integers in a blob of odd length. Its last byte says which: all components, or those that are not 0 after a bitmap of them.
// A blob of any other vector has 8 bytes for each component.

const ALL = 0;
const NONZERO = 1;

export function toBlob(features: Float64Array): ArrayBuffer {
  const units = new Int16Array(features.length);
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
  if (length >= units.byteLength) return withTag(ALL, new Uint8Array(units.buffer));
  const bytes = new Uint8Array(length + 1);
  bytes[0] = features.length;
  bytes[1] = features.length >> 8;
  bytes[length] = NONZERO;
  for (let i = 0, at = head; i < units.length; i++) {
    const unit = units[i];
    if (unit === 0) continue;
    bytes[2 + (i >> 3)] |= 1 << (i & 7);
    bytes[at++] = unit;
    bytes[at++] = unit >> 8;
  }
  return bytes.buffer;
}

export function fromBlob(blob: ArrayBuffer): Float64Array<ArrayBuffer> {
  const end = blob.byteLength - 1;
  if (end % 2 !== 0) return new Float64Array(blob);
  const bytes = new Uint8Array(blob);
  if (bytes[end] === ALL) return Float64Array.from(new Int16Array(blob, 0, end / 2), (unit) => unit / RESOLUTION);
  const features = new Float64Array(new DataView(blob).getUint16(0, true));
  const head = headLength(features.length);
  const values = new Int16Array(blob, head, (end - head) / 2);
  for (let byte = 2, next = 0; byte < head; byte++) {
    for (let mask = bytes[byte], i = 8 * (byte - 2); mask !== 0; mask >>= 1, i++) if (mask & 1) features[i] = values[next++] / RESOLUTION;
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
