import * as v from "valibot";
import { Problem } from "../../protocol/problem.ts";
import { sentence } from "../../protocol/sentence.ts";

const CORRECT = "correct the line, or export the log again";
const UPDATE = "update afterclick if a later version wrote the log, or correct the line";

/** A line of a log by its schema. @throws {Problem} 400 or 422 with one sentence: the first field at fault, and what to do. */
export function checkedLine<Schema extends v.GenericSchema>(schema: Schema, line: unknown): v.InferOutput<Schema> {
  const { success, output, issues } = v.safeParse(schema, line, { message: sentence, abortEarly: true });
  if (success) return output;
  const [{ kind, type, expected, message }] = issues;
  const path = v.getDotPath(issues[0]);
  // An unknown field, kind or value.
  const mayBeLater = expected === "never" || ["variant", "picklist", "literal"].includes(type);
  throw new Problem(kind === "schema" ? 400 : 422, `${path ? `${path}: ` : ""}${message}; ${mayBeLater ? UPDATE : CORRECT}`);
}
