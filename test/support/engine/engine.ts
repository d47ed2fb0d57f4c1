import { type ChildProcess, execFileSync } from "node:child_process";
import { existsSync } from "node:fs";

/** One page of a browser. A selector is CSS, and means the first match. Calls wait until it is there, at most `PATIENCE_MS`. */
export interface Tab {
  open(url: string): Promise<void>;
  /** Presses the element by the browser's own input events. */
  click(selector: string): Promise<void>;
  /** The element's visible text. */
  text(selector: string): Promise<string>;
  attribute(selector: string, name: string): Promise<string | null>;
  /** How many elements match now, without waiting. */
  count(selector: string): Promise<number>;
  /** Value of a JavaScript expression in the page, or of its promise. Only JSON passes. */
  evaluate<T>(expression: string): Promise<T>;
}

/** A browser with one tab. */
export interface RunningEngine {
  readonly tab: Tab;
  /** Console messages and exceptions of the page. Absent where the driver does not tell them. */
  readonly messages?: readonly string[];
  /** Addresses that the page has asked. Absent where the driver does not tell them. */
  readonly requests?: readonly string[];
  close(): Promise<void>;
}

/** An engine that tests can start. */
export interface Engine {
  readonly name: string;
  /** Debian's packages, as arguments of `apt-get install`. */
  readonly packages: string;
  readonly installed: boolean;
  launch(): Promise<RunningEngine>;
}

/** Longest wait for an element, ms. */
export const PATIENCE_MS = 30_000;

/** Longest evaluation of an expression, ms. */
export const EVALUATION_MS = 120_000;

/** The first of these programs that is there: a path, or a command. */
export function program(...names: string[]): string | undefined {
  for (const name of names) {
    if (name.startsWith("/")) {
      if (existsSync(name)) return name;
      continue;
    }
    try {
      return execFileSync("sh", ["-c", `command -v ${name}`], { encoding: "utf8" }).trim();
    } catch {
      // The next name may be there.
    }
  }
  return undefined;
}

/** Ends a process, and waits until it has ended. */
export async function end(process: ChildProcess): Promise<void> {
  if (process.exitCode !== null || process.signalCode !== null) return;
  const ended = new Promise((resolve) => process.once("exit", resolve));
  process.kill();
  await ended;
}
