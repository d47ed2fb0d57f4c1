import { expect } from "vitest";

const bytesOf = ({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array => new Uint8Array(buffer, byteOffset, byteLength);

// Arrays of the same kind with the same bytes are equal. Comparing snapshots number by number, as vitest does, takes longer than making them.
expect.addEqualityTesters([
  (a: unknown, b: unknown) => {
    if (!ArrayBuffer.isView(a) || !ArrayBuffer.isView(b)) return undefined;
    if (Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return undefined;
    // Others are vitest's to compare, which says where they differ.
    return Buffer.compare(bytesOf(a), bytesOf(b)) === 0 ? true : undefined;
  },
]);
