import type { EntriesOf } from "afterclick/research";
import { lineSource } from "../../../cli/evaluate/event-source.ts";
import type { SourceOptions } from "../../../cli/evaluate/source.ts";
import { linesOf } from "../../../cli/log/event-log.ts";

/** The entries of a log as an array. */
export function entriesIn<Entry>(log: EntriesOf<Entry>): Entry[] {
  return Array.from({ length: log.length }, (_, number) => log.at(number) as Entry);
}

/** The decisions of a log of text lines, and its lists, as arrays. Its receipts are not checked. */
export async function eventSource(texts: readonly string[], options: SourceOptions) {
  const { decisions, lists: own, ...source } = await lineSource(() => linesOf(texts, { receipts: false }), { lists: true, ...options });
  const lists = own && { ...own, lists: entriesIn(own.lists), random: entriesIn(own.random) };
  return { ...source, decisions: entriesIn(decisions), lists };
}

/** The lines of an export to which some were added, or from which some were taken. Its head states their number. */
export function recounted([head, ...lines]: readonly string[]): string[] {
  return [head.replace(/"lines":\d+/, `"lines":${lines.length}`), ...lines];
}
