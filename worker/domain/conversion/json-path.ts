/** The value at a path such as `lines[0].price`. Undefined if there is none. `part`: where a path without `$.` starts. */
export function valueAt(path: string, document: unknown, part: unknown = document): unknown {
  let value = path.startsWith("$.") ? document : part;
  for (const [name] of path.replace("$.", "").matchAll(/[\w-]+/g)) {
    if (value === null || typeof value !== "object" || !Object.hasOwn(value, name)) return undefined;
    value = (value as Readonly<Record<string, unknown>>)[name];
  }
  return value;
}
