// The only place of the commands that writes to the terminal.

import { createInterface } from "node:readline/promises";

/**
 * Characters that a terminal obeys instead of showing them, without line feed and tab: C0, DEL and C1, and the marks that change the
 * direction of the text around them.
 */
const OBEYED = /(?![\n\t])[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu;

/** Shows control characters as JSON writes them, such as \u001b, so that a text in JSON stays the same. */
export function shown(text: string): string {
  return text.replaceAll("\r\n", "\n").replace(OBEYED, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** Writes a line to standard output. It may hold ids, names of files and answers of others. */
export const print = (text: string): void => console.log(shown(text));

/** Writes a line to standard error. */
export const printError = (text: string): void => console.error(shown(text));

/** Asks a question that yes or no answers. Undefined without a terminal, where nobody answers. */
export async function confirmed(question: string): Promise<boolean | undefined> {
  if (!process.stdin.isTTY) return undefined;
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const answer = await terminal.question(`${shown(question)} [y/N] `).finally(() => terminal.close());
  return /^y(es)?$/i.test(answer.trim());
}
