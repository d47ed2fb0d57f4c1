import { counted } from "../command/counted.ts";

const whole = new Intl.NumberFormat("en");

/** The line of a report about lines that stood in a log before. Empty if there are none. */
export function repeatedLines(count: number): string[] {
  return count > 0 ? [`  ${counted(count, "line", whole.format(count))} stood in the log twice, counted once`] : [];
}
