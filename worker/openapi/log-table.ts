// Makes the table of docs/log.md of the schema of a line.

import { COLUMNS } from "../domain/archive/archive-columns.ts";
import { type Field, KINDS } from "../domain/log/log-line.ts";
import { decision } from "../protocol/decision.ts";

/** Meanings of the fields of a log, in Markdown. */
const MEANINGS: Readonly<Record<Field, string>> = {
  type: "kind of the line",
  seq: "number of the event; unique in a generation and shard",
  shard: "number of its shard. Absent for shard 0",
  receipt: "hash of the line and of the receipt before it, see [the log's receipts](security.md#the-logs-receipts)",
  id: "the impression; of an erased conversion, the one that it belonged to",
  state: "`live`, `deferred` until it is shown, or `void` after a rollback",
  arm: "`policy`, `holdout`, `default`, or `catalogue` while the model learns its log again after an upgrade",
  action: "the action; for a conversion by a key, the one that its sender named, or null",
  round: "number among the learnt impressions. Null if it is not learnt",
  version: "version of the model that decided",
  reward: "for an impression its sum so far, null if nothing arrived. For a conversion null if it retracts",
  context: "the context of the request. Null if there was none",
  decision: "see below. Null if it was decided elsewhere",
  converted: "whether it has reached a goal with a weight",
  shownAt: "when it was shown, in ms since 1970",
  features: "the encoded features",
  hashes: "hashes of its join keys",
  byPage: "whether a page asked for it. Absent if not",
  sampling: "exponent j: it stands for 2^j impressions. Absent for 0",
  impression: "the impression of the conversion",
  goal: "the goal that was reached",
  event: "name of the event, by which a repetition is known",
  restates: "whether its reward replaces the earlier amounts of the goal. Absent if not",
  at: "when it happened, in ms since 1970",
  status: "`applied`, `conflict`, `late`, `orphan`, `void` after a rollback, or `refused` by the policy",
  hash: "hash of the join key by which it came. Absent if it named its impression",
  mark: "`configuration`, `actions`, `snapshot`, `relearnt`, `merged`, `rollback` or `erasure`",
  content: "the content of the mark",
  format: "absent, or 1. A later form of the log will state its number",
  model: "name of the model",
  generation: "start of the model, in ms since 1970",
  horizon: "the log has the impressions shown at this time or later",
  modelVersion: "version of the model in which the log ends",
  config: "configuration at its end",
  shards: "number of shards. Absent for one",
  after: "the export starts after this event; 0 for a whole log",
  lines: "number of the events that follow; at the end, of those that the log has",
  exportedAt: "in ms since 1970",
  archive: "archived files with the rows that the log lacks, each with its SHA-256. Absent without any",
  digest: "digest of the learnt state at its end. Null if another version of the code wrote the state",
};

/** The table of all fields, in Markdown: one row for each. */
export function logTable(): readonly [head: readonly string[], rows: readonly (readonly string[])[]] {
  const names = Object.keys(MEANINGS) as Field[];
  const rows = names.map((name) => {
    const kinds = Object.entries(KINDS).flatMap(([kind, fields]) => (name in fields ? [kind] : []));
    return [code(name), kinds.length === Object.keys(KINDS).length ? "all" : kinds.map(code).join(", "), columnsOf(name), MEANINGS[name]];
  });
  return [["field", "lines", "column", "meaning"], rows];
}

const code = (name: string): string => `\`${name}\``;

/** The columns of a field in an archived file, with their types. */
function columnsOf(name: Field): string {
  const own = name === "impression" ? "id" : name;
  const isColumn = (field: string) => field === own || (own === "decision" && field in decision);
  const columns = COLUMNS.filter(({ field }) => isColumn(field)).map(
    ({ name: column, form }) => `${code(column)} ${TYPES[form] ?? form.toLowerCase()}`,
  );
  return columns.join(", ");
}

const TYPES: Readonly<Record<string, string>> = { JSON: "string of JSON", DOUBLES: "list of double", STRINGS: "list of string" };
