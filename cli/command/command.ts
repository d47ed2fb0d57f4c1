// The frame of a command: its command line and its errors.
import { type ParseArgsConfig, parseArgs } from "node:util";
import * as v from "valibot";
import { timestamp } from "../../worker/protocol/timestamp.ts";
import { print, printError } from "./terminal.ts";

type Options = NonNullable<ParseArgsConfig["options"]>;

/** The parsed values of options. */
export type Values<Chosen extends Options> = ReturnType<typeof parseArgs<{ options: Chosen }>>["values"];

interface Command<Chosen extends Options> {
  /** A function of how the command is called, if `npm run` and the package's bin both have it. */
  readonly usage: string | ((called: string) => string);
  /** Name of the command. Needed if `usage` is a function. */
  readonly name?: string;
  /** All options except --help. */
  readonly options?: Chosen;
  /** Name of the one argument. Absent if the command takes none. */
  readonly argument?: string;
  /** Errors that are shown without their stack. */
  readonly known?: readonly { [Symbol.hasInstance](error: unknown): boolean }[];
  /** The text to show instead of an error's own message. */
  explain?(error: Error): string | undefined;
  /** Resolves to false for exit code 1. */
  run(values: Values<Chosen>, argument: string): Promise<unknown>;
}

/** A wrong command line. The usage is shown below the message. */
export class UsageError extends Error {}

/** Runs a command with the arguments of this process, and sets the exit code. */
export async function command<const Chosen extends Options>(described: Command<Chosen>): Promise<void> {
  await prepared(described)(process.argv.slice(2));
}

/** Returns a function that runs the command with a list of arguments, and sets the exit code. */
export function prepared<const Chosen extends Options>(described: Command<Chosen>): (args: readonly string[]) => Promise<void> {
  const { name = "", options, argument, known = [], explain, run } = described;
  const called = process.env.npm_lifecycle_event === name ? `npm run ${name} --` : `npx afterclick ${name}`;
  const usage = typeof described.usage === "string" ? described.usage : described.usage(called);
  return async (args) => {
    try {
      const { values, positionals } = parseArgs({
        args,
        allowPositionals: argument !== undefined,
        options: { ...options, help: { type: "boolean", short: "h", default: false } },
      });
      if (values.help) return print(usage);
      if (argument && positionals.length !== 1) throw new UsageError(`expected one ${argument}, got ${positionals.length}`);
      process.exitCode = (await run(values as unknown as Values<Chosen>, positionals[0])) === false ? 1 : 0;
    } catch (caught) {
      const error = caught as NodeJS.ErrnoException;
      const wrongUsage = error instanceof UsageError || String(error.code).startsWith("ERR_PARSE_ARGS");
      const plain = known.some((each) => error instanceof each) ? error.message : (error.stack ?? error.message);
      printError(wrongUsage ? `${error.message}\n\n${usage}` : (explain?.(error) ?? plain));
      process.exit(1);
    }
  };
}

/** The text for a log that cannot be read. */
export function unreadable({ code = "", message }: NodeJS.ErrnoException): string | undefined {
  return ["ENOENT", "EISDIR", "EACCES"].includes(code) ? `Cannot read the log: ${message}` : undefined;
}

/** Parses the URL of a worker. @throws {UsageError} */
export function workerUrl(text: string): URL {
  const url = URL.parse(text);
  if (url && /^https?:$/.test(url.protocol)) return url;
  throw new UsageError(`--url: expected a URL with http or https, got ${text}`);
}

/** Other forms that JavaScript reads, such as "" and 0x10, are no numbers. */
const DECIMAL = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

/** Parses the value of a numeric option. @throws {UsageError} */
export function numberIn(option: string, text: string, min: number, max: number): number {
  const value = DECIMAL.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw new UsageError(`${option}: expected a number from ${min} to ${max}, got ${text}`);
}

/** The choice in an option. @throws {UsageError} */
export function choiceIn<Choice extends string>(option: string, text: string, choices: readonly Choice[]): Choice {
  const choice = choices.find((each) => each === text);
  if (choice === undefined) throw new UsageError(`${option}: expected one of ${choices.join(", ")}, got ${text}`);
  return choice;
}

/** Parses the value of an option that takes a time, by the worker's rule. @returns ms since 1970. @throws {UsageError} */
export function timeIn(option: string, text: string): number {
  const { success, output, issues } = v.safeParse(timestamp, /^\d+$/.test(text) ? Number(text) : text);
  if (success) return output;
  throw new UsageError(`${option}: ${issues[0].message}`);
}

/** Parses the value of an option that takes a whole number. @throws {UsageError} */
export function wholeNumber(option: string, text: string, min: number, max = Number.MAX_SAFE_INTEGER): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= min && value <= max) return value;
  throw new UsageError(`${option}: expected a whole number from ${min} to ${max}, got ${text}`);
}
