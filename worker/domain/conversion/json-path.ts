/** The steps of a path: a name, the place in a list, or the first entry of a list whose field has a value. */
const STEP = /\[([\w-]+)=([^\]]+)\]|([\w-]+)/g;

/**
 * The value at a path such as `lines[0].price` or `meta_data[key=sku].value`. Undefined if there is none. `part`: where a path without
 * `$.` starts.
 */
export function valueAt(path: string, document: unknown, part: unknown = document): unknown {
  let value = path.startsWith("$.") ? document : part;
  for (const [, field, wanted, name] of path.replace("$.", "").matchAll(STEP)) {
    if (field === undefined) value = own(value, name);
    else value = Array.isArray(value) ? value.find((each) => String(own(each, field) ?? "") === wanted) : undefined;
  }
  return value;
}

function own(value: unknown, name: string): unknown {
  if (value === null || typeof value !== "object" || !Object.hasOwn(value, name)) return undefined;
  return (value as Readonly<Record<string, unknown>>)[name];
}
