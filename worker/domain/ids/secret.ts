import { Problem } from "../../protocol/problem.ts";

/** Splits a variable that may hold several values, separated by whitespace. */
export function valuesOf(text: string): string[] {
  return text.split(/\s+/).filter(Boolean);
}

/** Tokens are public, and a database may leak. One token or one hash is enough to find a shorter key by trying all. */
const LEAST_KEY_LENGTH = 16;

/** The values of a variable whose values are keys. @throws {Problem} 500 if there is none, or one has fewer than 16 characters. */
export function keyValuesOf(name: string, text: string): string[] {
  const values = valuesOf(text);
  if (values.length > 0 && values.every(({ length }) => length >= LEAST_KEY_LENGTH)) return values;
  throw new Problem(500, `${name}: expected values of ${LEAST_KEY_LENGTH} or more characters; set the whole secret again`);
}

/** More values than a worker is ever configured with. */
const MOST_TEXTS = 16;

/**
 * Caches the result of `make` for each text, because importing or hashing a key costs more than the rest of a request.
 * The cache holds results and no promises: a promise belongs to the request that made it. A full cache is emptied.
 */
export function remembered<T>(make: (text: string) => T, most = MOST_TEXTS): (text: string) => T | Awaited<T> {
  const made = new Map<string, Awaited<T>>();
  const keep = (text: string, value: Awaited<T>): Awaited<T> => {
    if (made.size >= most) made.clear();
    made.set(text, value);
    return value;
  };
  return (text) => {
    const known = made.get(text);
    if (known !== undefined) return known;
    const value = make(text);
    return value instanceof Promise ? (value.then((result) => keep(text, result)) as T) : keep(text, value as Awaited<T>);
  };
}
