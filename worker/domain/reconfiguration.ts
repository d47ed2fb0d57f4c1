import type { ModelBody } from "../protocol/schema.ts";

/** The stored options that have fields of their own. */
interface Stored {
  readonly policy: string;
  readonly options: object;
  readonly encoder: object | null;
  readonly limits: NonNullable<ModelBody["limits"]>;
  readonly shadows: readonly { readonly name: string; readonly policy: string; readonly options: object }[];
}

/**
 * The body with the stored value of everything that it leaves out: options of the model, fields of `options`, `encoder` and `limits`,
 * and fields of the options of a shadow with the same name and policy. Goals, lists, and ranges of numeric features are taken as a whole.
 * Options of another policy mean something else, so a body that names another policy stays as it is.
 */
export function withStored(body: ModelBody, stored: Stored): ModelBody {
  if (body.policy !== undefined && body.policy !== stored.policy) return body;
  const known = Object.fromEntries(Object.entries(stored).filter(([, value]) => value !== null));
  return {
    ...known,
    ...body,
    options: merged(stored.options, body.options),
    ...((stored.encoder ?? body.encoder) && { encoder: { ...stored.encoder, ...body.encoder } }),
    limits: { ...stored.limits, ...body.limits },
    shadows: (body.shadows ?? stored.shadows).map((shadow) => {
      const same = stored.shadows.find(({ name, policy }) => name === shadow.name && policy === shadow.policy);
      return { ...shadow, options: merged(same?.options, shadow.options) };
    }),
  };
}

/** The stored fields, replaced by those that are sent; inside a field of both, its fields likewise. */
function merged(stored: object = {}, sent: object = {}): Record<string, unknown> {
  const fields: Record<string, unknown> = { ...stored };
  for (const [name, value] of Object.entries(sent)) {
    const { [name]: before } = fields;
    fields[name] = isObject(before) && isObject(value) ? merged(before, value) : value;
  }
  return fields;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
