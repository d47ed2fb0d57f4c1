import { lineSource } from "../../../cli/evaluate/event-source.ts";
import type { Source, SourceOptions } from "../../../cli/evaluate/source.ts";
import { linesOf } from "../../../cli/log/event-log.ts";

/** The decisions of a log of text lines. Its receipts are not checked. */
export function eventSource(texts: readonly string[], options: SourceOptions): Promise<Source> {
  return lineSource(() => linesOf(texts, { receipts: false }), { lists: true, ...options });
}

/** The lines of an export to which some were added, or from which some were taken. Its head states their number. */
export function recounted([head, ...lines]: readonly string[]): string[] {
  return [head.replace(/"lines":\d+/, `"lines":${lines.length}`), ...lines];
}
