// Nearly all feature vectors are multiples of 2^-12 between -8 and 8. As 16-bit integers they take a quarter of the space. Such a blob
// ends with one more byte, so that its length is odd.

const RESOLUTION = 4096;

export function toBlob(features: Float64Array): ArrayBuffer {
  const units = Int16Array.from(features, (each) => each * RESOLUTION);
  if (!features.every((each, i) => Object.is(units[i] / RESOLUTION, each))) return features.slice().buffer;
  const bytes = new Uint8Array(units.byteLength + 1);
  bytes.set(new Uint8Array(units.buffer));
  return bytes.buffer;
}

export function fromBlob(blob: ArrayBuffer): Float64Array<ArrayBuffer> {
  if (blob.byteLength % 2 === 0) return new Float64Array(blob);
  return Float64Array.from(new Int16Array(blob, 0, blob.byteLength >> 1), (unit) => unit / RESOLUTION);
}
