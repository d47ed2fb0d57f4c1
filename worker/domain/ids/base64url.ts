const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
/** Two digits for each 12 bits. */
const PAIRS = Array.from({ length: 4096 }, (_, bits) => DIGITS[bits >> 6] + DIGITS[bits & 63]);

/** The first `length` bytes in base64url, without padding. Takes a third of the time of `btoa`. */
export function base64Url(bytes: Uint8Array, length = bytes.length): string {
  let text = "";
  let at = 0;
  for (; at + 2 < length; at += 3) {
    text += PAIRS[(bytes[at] << 4) | (bytes[at + 1] >> 4)] + PAIRS[((bytes[at + 1] & 15) << 8) | bytes[at + 2]];
  }
  if (at + 1 === length) text += PAIRS[bytes[at] << 4];
  if (at + 2 === length) text += PAIRS[(bytes[at] << 4) | (bytes[at + 1] >> 4)] + DIGITS[(bytes[at + 1] & 15) << 2];
  return text;
}
