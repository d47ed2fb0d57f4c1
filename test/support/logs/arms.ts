import { type LoggedArms, loggedArms } from "../../../cli/compare/logged-arms.ts";
import { linesOf } from "../../../cli/log/event-log.ts";

/** The arms of a log of text lines. Its receipts are not checked. */
export function armsOf(texts: readonly string[], goal?: string): Promise<LoggedArms> {
  const progress = (): void => {};
  return loggedArms(() => linesOf(texts, { receipts: false }), goal, { checked: progress, counted: progress });
}
