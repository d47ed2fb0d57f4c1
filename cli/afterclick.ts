#!/usr/bin/env node
// npx afterclick: the first word names a command, the others are its arguments.
import { print, printError } from "./command/terminal.ts";

interface Listed {
  readonly summary: string;
  /** Loads only what the command needs. */
  load(): Promise<{ run(args: readonly string[]): Promise<void> }>;
}

const COMMANDS: Readonly<Record<string, Listed>> = {
  deploy: { summary: "deploy the worker to Cloudflare", load: () => import("./deploy.ts") },
  doctor: { summary: "check a running worker, and say what to do", load: () => import("./doctor.ts") },
  rehearse: { summary: "play a late purchase and a refund, and show what is learnt", load: () => import("./rehearse.ts") },
  import: { summary: "tell a model what the shop has sold, from a CSV of past orders", load: () => import("./import.ts") },
  export: { summary: "write the event log of a model to a file", load: () => import("./export.ts") },
  verify: { summary: "verify a log, decision by decision", load: () => import("./verify.ts") },
  evaluate: { summary: "estimate another policy's reward from a log", load: () => import("./evaluate.ts") },
  compare: { summary: "compare a policy with its holdout before windows close", load: () => import("./compare.ts") },
  replay: { summary: "send a log of another system through a worker", load: () => import("./replay.ts") },
};

const HELP = `A contextual recommender whose policies know that conversions come late.

Usage: npx afterclick COMMAND [OPTIONS]

${Object.entries(COMMANDS)
  .map(([name, { summary }]) => `  ${name.padEnd(10)}${summary}`)
  .join("\n")}
  help      print this text; "npx afterclick COMMAND --help" prints a command's own

Example: npx afterclick deploy --dry-run`;

// A bundler leaves a plain import of it out, because the package declares that its modules have no side effects.
await import("./node-version.cjs");

const [name = "help", ...rest] = process.argv.slice(2);
const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;

if (command) {
  const { run } = await command.load();
  await run(rest);
} else if (["help", "--help", "-h"].includes(name)) {
  print(HELP);
} else {
  printError(`expected a command, got ${name}\n\n${HELP}`);
  process.exitCode = 1;
}
