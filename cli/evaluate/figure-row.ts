import { type Figure, isTooFew, tooFewText } from "afterclick/research";

/** A number of a report. */
export const shown = (value: number): string => (Number.isFinite(value) ? value.toPrecision(3) : "none");

/** The row of a figure: its estimate and its interval, or how much more data it needs. */
export function figureRow(label: string, figure: Figure): string {
  if (isTooFew(figure)) return `${label.padEnd(22)}${"none".padStart(10)}    ${tooFewText(figure)}`;
  return `${label.padEnd(22)}${shown(figure.value).padStart(10)}    ${shown(figure.low)} to ${shown(figure.high)}`;
}
