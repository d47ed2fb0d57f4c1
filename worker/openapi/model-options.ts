import { type Change, DEFAULT_TEXTS, DEFAULTS, MEANINGS, modelOptions, type OptionName } from "../protocol/model-options.ts";

const NEEDS: Readonly<Record<Change, string>> = {
  nothing: "It may change at any time.",
  growth: "It may grow at any time, and never falls.",
  relearning: "A change needs a reset, which may learn the log again.",
};

const UNITS = { day: 86_400_000, hour: 3_600_000, minute: 60_000 };

/** Meaning, default and need of an option, as plain text. */
export function describedOption(name: OptionName): string {
  return plain(`${MEANINGS[name]} Default: ${defaultOf(name)}. ${NEEDS[modelOptions[name].change]}`);
}

/** Meaning of an option, as plain text. */
export const meaningOf = (name: OptionName): string => plain(MEANINGS[name]);

/** The table of all options, in Markdown: one row for each. */
export function optionTable(): readonly [head: readonly string[], rows: readonly (readonly string[])[]] {
  const names = Object.keys(modelOptions) as OptionName[];
  const rows = names.map((name) => [`\`${name}\``, defaultOf(name), modelOptions[name].change, MEANINGS[name]]);
  return [["option", "default", "a change needs", "meaning"], rows];
}

/** The default of a new model, in Markdown. */
function defaultOf(name: OptionName): string {
  const value: unknown = (DEFAULTS as Partial<Record<OptionName, unknown>>)[name];
  return DEFAULT_TEXTS[name] ?? durationOf(value) ?? `\`${JSON.stringify(value, null, 1).replaceAll(/\s+/g, " ")}\``;
}

/** Undefined if it is no duration of whole minutes. */
function durationOf(value: unknown): string | undefined {
  const { ms = Number.NaN } = Object(value) as { readonly ms?: number };
  const [name, unit] = Object.entries(UNITS).find(([, unit]) => ms % unit === 0) ?? [];
  return unit === undefined ? undefined : `${ms / unit} ${name}${ms === unit ? "" : "s"}`;
}

/** Without links, whose targets are pages beside this one. */
const plain = (markdown: string): string => markdown.replaceAll(/\[([^\]]+)\]\([^)]*\)/g, "$1");
