/** A number with its noun: 1 event, 2 events. `text`: the number as it is written. */
export const counted = (count: number, noun: string, text = String(count)): string => `${text} ${noun}${count === 1 ? "" : "s"}`;
