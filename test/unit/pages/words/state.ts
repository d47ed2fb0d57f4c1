import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { busy } from "../../../browser/report.ts";
import { drawn } from "../../../support/markup.ts";

/** A component, its usual props, and other states of it by their names. */
export interface State {
  readonly component: (props: never) => unknown;
  readonly usual: object;
  readonly others?: Readonly<Record<string, object>>;
}

/** Times differ by the reader's zone. */
const withoutTimes = (line: string): string =>
  line.replace(/(\d{1,2} [A-Z][a-z]{2} )?(\d{4} )?\d\d:\d\d(:\d\d)?/g, (_, __, ___, seconds) => (seconds ? "TIME TO THE SECOND" : "TIME"));

const linesOf = (component: State["component"], props: object) =>
  drawn(component as (props: object) => unknown, props).lines.map(withoutTimes);

/** The lines of a state that are not among the usual ones, below how many of these it keeps. */
function changes(title: string, usual: readonly string[], lines: readonly string[]): string[] {
  const kept = usual.filter((line) => lines.includes(line)).length;
  return [
    `## ${title}: ${kept} of ${usual.length} lines stay`,
    ...lines.filter((line) => !usual.includes(line)).map((line) => `+ ${line}`),
  ];
}

/** Compares what components say in each state with the file `name`.txt. After a change of wording `vitest -u` writes it again. */
export function saysAsWritten(name: string, states: () => Readonly<Record<string, State>>): void {
  beforeEach(() => void vi.useFakeTimers({ now: busy.now, toFake: ["Date"] }));
  afterEach(() => void vi.useRealTimers());

  it(`${name}: every state says and marks what is written`, async () => {
    const blocks = Object.entries(states()).flatMap(([what, { component, usual, others = {} }]) => {
      const lines = linesOf(component, usual);
      const different = Object.entries(others).map(([how, more]) =>
        changes(`${what}, ${how}`, lines, linesOf(component, { ...usual, ...more })),
      );
      return [[`# ${what}`, ...lines], ...different];
    });
    await expect(`${blocks.map((lines) => lines.join("\n")).join("\n\n")}\n`).toMatchFileSnapshot(`./${name}.txt`);
  });
}
