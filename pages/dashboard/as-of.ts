import { moment } from "../ui/notation.ts";

/** Says that figures are as of an earlier time, because conversions come late. Empty if they are as of now. */
export function asOf(completeUntil: number, now: number): string {
  return completeUntil < now ? `As of ${moment(completeUntil)}: later conversions are not all reported yet. ` : "";
}
