/** Values that no worker exports, or at the edge of what it does. */
const VALUES: readonly string[] = [
  ...["null", "true", '""', '"x"', '"__proto__"', "[]", "{}", "[[]]", '{"length":1e9}', "-1", "-0", "0", "0.5", "1", "2"],
  ...["1e999", "-1e999", "1e-320", "1e300", "-1e300", "9007199254740993", "4503599627370496", "1e12", "8.64e15", "8.65e15"],
];

/** Draws a whole number below a bound. */
type Below = (most: number) => number;

/**
 * The lines of a log with one change of another program: a value, a field, or a line that is missing, repeated, moved or broken.
 * @param lines JSON, one value each.
 */
export function changedLog(lines: readonly string[], below: Below): string[] {
  const at = below(lines.length);
  const kind = below(12);
  if (kind === 0) return lines.toSpliced(at, 1);
  if (kind === 1) return lines.toSpliced(at, 0, lines[below(lines.length)]);
  if (kind === 2) return lines.toSpliced(at, 1, lines[at].slice(0, below(lines[at].length)));
  if (kind === 3) return lines.toSpliced(at, 0, `\u{feff}${VALUES[below(VALUES.length)]}`);
  return lines.with(at, changedJson(lines[at], below));
}

/** JSON with one value replaced by another, or without it. */
function changedJson(text: string, below: Below): string {
  const mark = "\0here\0";
  const changed = JSON.stringify(replaced(JSON.parse(text), below, mark));
  return changed.replace(JSON.stringify(mark), VALUES[below(VALUES.length)]);
}

function replaced(value: unknown, below: Below, by: unknown): unknown {
  if (value === null || typeof value !== "object" || Object.keys(value).length === 0 || below(12) === 0) return by;
  const keys = Object.keys(value);
  const key = keys[below(keys.length)];
  if (Array.isArray(value)) return value.with(Number(key), replaced(value[Number(key)], below, by));
  const fields = value as Record<string, unknown>;
  if (below(10) > 0) return { ...fields, [key]: replaced(fields[key], below, by) };
  const { [key]: _, ...rest } = fields;
  return rest;
}
