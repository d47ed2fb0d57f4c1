// Join keys as requests name them, and the rule that a key belongs to somebody.

import * as v from "valibot";
import { list, wellFormed } from "./forms.ts";
import { plainId, UNSEEN } from "./plain-id.ts";
import { got } from "./sentence.ts";

const MOST_CHARACTERS = 256;

/** Characters that programs put around a missing value, or between its words. */
const BETWEEN = new RegExp(String.raw`[\p{P}\p{Sm}${UNSEEN}]`, "gu");

/**
 * What programs write where a visitor has no id, without the characters above and in small letters. Many visitors share such a key, and
 * each would get the orders of all others.
 * - Nothing, zeros (the number, or a UUID of zeros), and the greatest UUID.
 * - Missing values of programming languages, databases and web analytics.
 * - Names of visitors who have not logged in.
 * - The MD5, SHA-1 and SHA-256 of an empty text, from shops that hash addresses.
 */
const NOBODY = new RegExp(
  `^(${[
    "0*|f{32}",
    "null|nil|undefined|nan|none|true|false|infinity|object(object|undefined|null)",
    "not(set|provided|available|applicable|loggedin)",
    "(guest|anon|anonymous|unknown|unidentified|unauthenticated|nobody)(user|customer|visitor|account|checkout|session)?",
    "d41d8cd98f00b204e9800998ecf8427e|da39a3ee5e6b4b0d3255bfef95601890afd80709",
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
  ].join("|")})$`,
);
/** Those that only their punctuation tells from a name: a number for none, an abbreviation, and a template without its value. */
const PUNCTUATED = /^(-1|n\/a|\[object .*\]|\{\{.*\}\}|\$\{.*\}|<%.*%>)$/i;

const EXPECTED = "expected a key of one visitor or order";

/** Whether a text names nobody, as programs write it where an id is missing. */
export function isNobody(text: string): boolean {
  const plain = plainId(text);
  return PUNCTUATED.test(plain) || NOBODY.test(plain.toLowerCase().replaceAll(BETWEEN, ""));
}

/** Why a text is no join key: it is too long or broken, or it is nobody's. Undefined if it is one. */
export function keyRefusal(key: string): string | undefined {
  if (key.length > MOST_CHARACTERS) return `${EXPECTED} with at most ${MOST_CHARACTERS} characters, got ${key.length}`;
  if (/\p{Surrogate}/u.test(key)) return `${EXPECTED} in well-formed Unicode, got half of a surrogate pair`;
  if (!isNobody(key)) return undefined;
  return `${EXPECTED}, got ${got(key)}, which programs write for a visitor without an id: leave the key out`;
}

const WRITTEN = /\S/;
const refusalOf = ({ input }: { readonly input: string }): string => keyRefusal(input) ?? "";

/** A join key such as an order number or a visitor id. Only its hash is stored. */
export const joinKey = v.pipe(
  v.string(),
  v.maxLength(MOST_CHARACTERS),
  wellFormed,
  // Apart, because the description of the API can state it.
  v.regex(WRITTEN, refusalOf),
  v.check((key) => !WRITTEN.test(key) || !isNobody(key), refusalOf),
);
export const keys = list(joinKey, 4);
