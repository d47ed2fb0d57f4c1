// The text of a validation error: what was expected, what arrived, and the name that was probably meant.

import type * as v from "valibot";
import { didYouMean } from "./nearest.ts";
import { shortened } from "./shortened.ts";

type Issue = v.BaseIssue<unknown>;

/** Most characters of a text that an error repeats. */
const MOST_QUOTED = 60;

const FORMS: Readonly<Record<string, string>> = {
  Object: "an object",
  Array: "a list",
  string: "a text",
  number: "a number",
  boolean: "true or false",
};

const BOUNDS: Readonly<Record<string, (issue: Issue) => string>> = {
  finite: () => "a finite number",
  integer: () => "a whole number",
  safe_integer: () => "a whole number",
  min_value: ({ requirement }) => `at least ${requirement}`,
  max_value: ({ requirement }) => `at most ${requirement}`,
  gt_value: ({ requirement }) => `more than ${requirement}`,
  min_length: ({ requirement, input }) => `at least ${counted(Number(requirement), input)}`,
  max_length: ({ requirement, input }) => `at most ${counted(Number(requirement), input)}`,
  max_entries: ({ requirement }) => `at most ${requirement} fields`,
};

/** The message of an issue without a message of its own. */
export function sentence(issue: Issue): string {
  const { expected, input } = issue;
  const bound = BOUNDS[issue.type]?.(issue);
  const choices = optionsOf(expected);
  const meant =
    typeof input === "string"
      ? didYouMean(
          input,
          choices.filter(isQuoted).map((choice) => choice.slice(1, -1)),
        )
      : "";
  return `expected ${bound ?? (choices.map(formOf).join(" or ") || "another value")}, got ${got(input)}${meant}`;
}

/** The message of an issue of an object with these fields: another form, a missing field, or an unknown one. */
export function fieldSentence(entries: v.ObjectEntries): (issue: Issue) => string {
  return (issue) => {
    const { expected, input } = issue;
    if (expected === "never") return `there is no such field${didYouMean(String(input), Object.keys(entries)) || fieldsOf(entries)}`;
    if (!isQuoted(expected ?? "")) return sentence(issue);
    return `required: expected ${formOfSchema(entries[(expected as string).slice(1, -1)])}, got nothing`;
  };
}

/** The expected form of a missing field. */
function formOfSchema(schema: unknown): string {
  const { expects, entries, getter } = schema as {
    readonly expects?: string;
    readonly entries?: v.ObjectEntries;
    readonly getter?: (input: unknown) => unknown;
  };
  if (getter) return formOfSchema(getter(undefined));
  const form =
    optionsOf(expects ?? null)
      .map(formOf)
      .join(" or ") || "a value";
  return entries ? `${form} with ${Object.keys(entries).join(", ")}` : form;
}

/** The value that arrived, in a few words. */
export function got(input: unknown): string {
  if (input === undefined) return "nothing";
  if (Array.isArray(input)) return `a list of ${input.length}`;
  if (typeof input === "string") return JSON.stringify(shortened(input, MOST_QUOTED));
  return typeof input === "object" && input !== null ? "an object" : String(input);
}

function fieldsOf(entries: v.ObjectEntries): string {
  const names = Object.keys(entries);
  return names.length > 0 ? `; expected one of ${names.join(", ")}` : "";
}

/** The alternatives of valibot's `("a" | "b")`. */
function optionsOf(expected: string | null): string[] {
  const options = (expected ?? "unknown").replaceAll(/[()]/g, "").split(" | ");
  return options.filter((option) => option !== "unknown" && option !== "any");
}

const isQuoted = (text: string): boolean => text.startsWith('"');
const formOf = (option: string): string => FORMS[option] ?? option;

function counted(count: number, input: unknown): string {
  const [one, many] = typeof input === "string" ? ["character", "characters"] : ["item", "items"];
  return `${count} ${count === 1 ? one : many}`;
}
