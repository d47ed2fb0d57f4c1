// Joins a change with the stored options, and says in words where two configurations differ.

import type { ModelOptions } from "../../protocol/model-options.ts";
import type { ModelBody } from "../../protocol/schema.ts";
import { shortened } from "../../protocol/shortened.ts";

/** The stored options that have fields of their own. */
type Stored = Pick<ModelOptions, "policy" | "options" | "encoder" | "limits" | "shadows">;

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
    ...((stored.encoder ?? body.encoder) && { encoder: { ...wholeEncoder(stored.encoder), ...body.encoder } }),
    limits: { ...stored.limits, ...body.limits },
    shadows: (body.shadows ?? stored.shadows).map((shadow) => {
      const same = stored.shadows.find(({ name, policy }) => name === shadow.name && policy === shadow.policy);
      return { ...shadow, options: merged(same?.options, shadow.options) };
    }),
  };
}

/** A stored encoder without `interactions` has none, which is not the default of a new one. */
export const wholeEncoder = (stored: object | null): object | null => stored && { interactions: [], ...stored };

/** The stored fields, replaced by those that are sent; inside a field of both, its fields likewise. */
function merged(stored: object = {}, sent: object = {}): Record<string, unknown> {
  const fields: Record<string, unknown> = { ...stored };
  for (const [name, value] of Object.entries(sent)) {
    const { [name]: before } = fields;
    fields[name] = isObject(before) && isObject(value) ? merged(before, value) : value;
  }
  return fields;
}

/** A value that two configurations do not share. */
export interface Difference {
  /** Names of the fields that lead to it, with dots between. */
  readonly path: string;
  readonly stored: unknown;
  readonly asked: unknown;
}

/** The innermost fields in which two values differ. The order of names has no meaning. */
export function differences(stored: unknown, asked: unknown, path = ""): Difference[] {
  if (isContainer(stored) && isContainer(asked) && Array.isArray(stored) === Array.isArray(asked)) {
    const names = new Set([...Object.keys(stored), ...Object.keys(asked)]);
    return Array.from(names).flatMap((name) => differences(ownOf(stored, name), ownOf(asked, name), path ? `${path}.${name}` : name));
  }
  return stored === asked ? [] : [{ path, stored, asked }];
}

/** A field of the object itself: every object inherits a `toString`. */
function ownOf(fields: Readonly<Record<string, unknown>>, name: string): unknown {
  return Object.hasOwn(fields, name) ? fields[name] : undefined;
}

/** Most differences that a refusal names, and most characters of each value. */
const MOST_NAMED = 5;
const MOST_SHOWN = 80;

/** Says which options differ, with both values. Options of two policies mean different things, so another policy is named alone. */
export function differencesText(found: readonly [Difference, ...Difference[]]): string {
  const policy = found.filter(({ path }) => path === "policy");
  const named = (policy.length > 0 ? policy : found).slice(0, MOST_NAMED);
  return named.map(({ path, stored, asked }) => `${path}: expected ${shown(stored)}, got ${shown(asked)}`).join("; ");
}

function shown(value: unknown): string {
  return shortened(value === undefined ? "none" : JSON.stringify(value), MOST_SHOWN);
}

function isContainer(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
