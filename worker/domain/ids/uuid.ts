// The UUIDv7 of an impression: its first 48 bits are when it was shown.

const DASH = 0x2d;
const LETTERS = 0x40;

/** UUIDv7 of a time and ten random or derived bytes. */
export function uuidAt(shownAt: number, random: Uint8Array): string {
  const bytes = new Uint8Array(16);
  for (let byte = 5, left = shownAt; byte >= 0; byte--, left = Math.floor(left / 256)) bytes[byte] = left % 256;
  for (let i = 0; i < 10; i++) bytes[6 + i] = random[i];
  bytes[6] = 0x70 | (bytes[6] & 0x0f);
  bytes[8] = 0x80 | (bytes[8] & 0x3f);
  return uuidOf(bytes);
}

/** Time of a UUIDv7, in ms since 1970. */
export function shownAtOf(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
}

/** The part of a UUID after its time. It names a registration, which may be repeated with another time. */
export const nameOf = (id: string): string => id.slice(14);

/** Sorts before every UUIDv7 of that time or later, and after every earlier one. */
export function firstIdAt(shownAt: number): string {
  const hex = Math.max(0, shownAt).toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}`;
}

/** Writes the 16 bytes of a UUID. */
export function setUuid(bytes: Uint8Array, offset: number, id: string): void {
  for (let i = 0, digits = 0; i < id.length; i++) {
    const code = id.charCodeAt(i);
    if (code === DASH) continue;
    // The last five bits of a letter are its place in the alphabet, from 1.
    const digit = code < LETTERS ? code & 0xf : (code & 0x1f) + 9;
    const at = offset + (digits++ >> 1);
    bytes[at] = digits & 1 ? digit << 4 : bytes[at] | digit;
  }
}

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

/** The UUID of 16 bytes. */
export function uuidOf(bytes: Uint8Array): string {
  let hex = "";
  for (const byte of bytes) hex += HEX[byte];
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
