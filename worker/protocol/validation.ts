// Reads a part of a request by its schema, and refuses it with its faults named.

import type { HonoRequest, MiddlewareHandler } from "hono";
import { validator } from "hono/validator";
import * as v from "valibot";
import { Problem } from "./problem.ts";
import { sentence } from "./sentence.ts";
import { shortened } from "./shortened.ts";

/** Most errors that a refusal names, and most characters of each. */
const MOST_ERRORS = 20;
const MOST_SHOWN = 300;

/** The input of a handler behind `valid`. */
export interface Valid<Target extends string, Schema extends v.GenericSchema> {
  readonly in: { [Part in Target]: v.InferInput<Schema> };
  readonly out: { [Part in Target]: v.InferOutput<Schema> };
}

/**
 * Validates a part of a request: 400 if its form is wrong, 422 if a value is out of range.
 * @internal It names Hono's types, which the declarations of the typed client do without.
 */
export function valid<Target extends "json" | "param" | "query", Schema extends v.GenericSchema>(
  target: Target,
  schema: Schema,
): MiddlewareHandler<object, string, Valid<Target, Schema>> {
  const checked = target === "query" ? validator(target, (value) => parsed(schema, value)) : part(target, schema);
  return checked as MiddlewareHandler<object, string, Valid<Target, Schema>>;
}

/** Reads every body as JSON, whatever its content type: `curl -d` and `sendBeacon` state another one unless they are told. */
function part(target: "json" | "param", schema: v.GenericSchema): MiddlewareHandler {
  return async ({ req }, next) => {
    req.addValidatedData(target, parsed(schema, target === "json" ? await jsonOf(req) : req.param()) as object);
    await next();
  };
}

/** Reads a body by Hono, which keeps what it read. @throws {Problem} 500 if a middleware in front of the mounted app took the body. */
export async function bodyBy<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch {
    const remedy = "read it by c.req.json() or c.req.text(), or read c.req.raw.clone()";
    throw new Problem(500, `a middleware in front of afterclick took the body: ${remedy}`);
  }
}

/** An empty body counts as an empty object. @throws {Problem} 400 */
async function jsonOf(request: HonoRequest): Promise<unknown> {
  const text = await bodyBy(() => request.text());
  if (text.trim() === "") return {};
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Problem(400, shortened(`the body is not JSON: ${(error as Error).message}`, MOST_SHOWN));
  }
}

/** @throws {Problem} 400 or 422, as `valid` does. */
export function parsed<Schema extends v.GenericSchema>(schema: Schema, value: unknown): v.InferOutput<Schema> {
  const result = v.safeParse(schema, value, { message: sentence });
  if (result.success) return result.output;
  throw refused(result.issues);
}

function refused(issues: readonly v.BaseIssue<unknown>[]): Problem {
  const brief = (text: string): string => shortened(text, MOST_SHOWN);
  const errors = issues.slice(0, MOST_ERRORS).map((issue) => ({ path: brief(v.getDotPath(issue) ?? ""), message: brief(issue.message) }));
  const status = issues.some(({ kind }) => kind === "schema") ? 400 : 422;
  return new Problem(status, errors.map(({ path, message }) => (path ? `${path}: ${message}` : message)).join("; "), errors);
}
