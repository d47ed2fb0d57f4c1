// npm run attack: sends a local worker what strangers, pages, forgers and retries may send, kills it, and counts what did not hold.
import { appendFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ApiError, UnreachableError } from "../cli/api.ts";
import { command, numberIn, type Values, wholeNumber } from "../cli/command.ts";
import { freshSecrets, writeDevVars } from "../cli/dev-vars.ts";
import { progressBar, refreshing } from "../cli/progress.ts";
import { print, printError } from "../cli/terminal.ts";
import { anyFreePort, askedToStop, HOST, StartError } from "../scripts/worker-process.ts";
import { amounts } from "./attack/groups/amounts.ts";
import { auth } from "./attack/groups/auth.ts";
import { cost } from "./attack/groups/cost.ts";
import { disclosure } from "./attack/groups/disclosure.ts";
import { extremes } from "./attack/groups/extremes.ts";
import { growth } from "./attack/groups/growth.ts";
import { kills } from "./attack/groups/kills.ts";
import { logs } from "./attack/groups/logs.ts";
import { pageRights } from "./attack/groups/page-rights.ts";
import { races } from "./attack/groups/races.ts";
import { shares } from "./attack/groups/shares.ts";
import { tokens } from "./attack/groups/tokens.ts";
import { webhooks } from "./attack/groups/webhooks.ts";
import { Scoreboard } from "./attack/scoreboard.ts";
import { type Group, Stage } from "./attack/stage.ts";
import { Target } from "./attack/target.ts";
import { Victim } from "./soak/victim.ts";

const DEFAULT_MINUTES = 3;
const LONGEST_MS = 10 * 60_000;
const GRACE_MS = 60_000;
const PROGRESS = "{bar} {percentage}% | {tried} tried, {broke} broke | {group} | {duration_formatted}";

const USAGE = `Attacks a local worker: keys, impression ids, webhooks, extremes of every schema, large amounts, hostile logs, the cost of a page's requests, the rights
of pages and their shares, what refusals disclose, races, growing shards and kills. Starts its own worker with empty state and touches no other.

Usage: npm run attack [-- --seed N] [--minutes M]

  --seed N      seed of the requests, default 1. The same seed sends the same requests, up to keys, impression ids and times
  --minutes M   approximate length, default ${DEFAULT_MINUTES}, from 0.5 to 8

Example: npm run attack -- --seed 7 --minutes 2

Each breach is a line. The last line is JSON. Exit code 1: something did not hold. Takes at most ${LONGEST_MS / 60_000} minutes.`;

class StoppedError extends Error {}

const options = {
  seed: { type: "string", default: "1" },
  minutes: { type: "string", default: String(DEFAULT_MINUTES) },
} as const;

async function main(values: Values<typeof options>): Promise<boolean> {
  const seed = wholeNumber("--seed", values.seed, 0);
  const scale = numberIn("--minutes", values.minutes, 0.5, 8) / DEFAULT_MINUTES;
  const folder = await mkdtemp(join(tmpdir(), "afterclick-attack-"));
  const secretsFile = join(folder, "secrets.env");
  const secrets = freshSecrets();
  await writeDevVars({ ...secrets, AFTERCLICK_GRACE_MS: String(GRACE_MS) }, secretsFile);
  // The whole content of a sender without its name.
  const { AFTERCLICK_JOIN_KEY: misplaced } = freshSecrets();
  await appendFile(secretsFile, `AFTERCLICK_SENDERS='${JSON.stringify({ header: "x-signature", secret: misplaced })}'\n`);
  const port = await anyFreePort();
  const victim = new Victim({ port, state: join(folder, "state"), secretsFile, logLevel: "error" });
  const target = new Target(new URL(`http://${HOST}:${port}`), secrets);
  const groups = [
    auth,
    tokens,
    webhooks,
    extremes,
    amounts,
    logs,
    cost(() => victim.group),
    pageRights,
    disclosure(misplaced),
    shares,
    races,
    growth,
    kills(victim, GRACE_MS),
  ];
  try {
    await victim.start();
    return await Promise.race([attack(groups, { target, board: new Scoreboard(), seed, scale }), victim.died(), stopped()]);
  } finally {
    await victim.kill();
    await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }
}

/** @throws {StoppedError} on a signal, or after LONGEST_MS. */
async function stopped(): Promise<never> {
  const late = sleep(LONGEST_MS, undefined, { ref: false }).then(
    () => `The attack did not end within ${LONGEST_MS / 60_000} minutes. Try fewer --minutes.`,
  );
  throw new StoppedError(await Promise.race([late, askedToStop().then(() => "Stopped by a signal.")]));
}

async function attack(
  groups: readonly Group[],
  field: { target: Target; board: Scoreboard; seed: number; scale: number },
): Promise<boolean> {
  const { board } = field;
  const bar = progressBar(PROGRESS);
  const prepared: { name: string; attempts: (() => Promise<void>)[] }[] = [];
  for (const { name, prepare } of groups) prepared.push({ name, attempts: await prepare(new Stage(name, field)) });
  const total = prepared.reduce((sum, { attempts }) => sum + attempts.length, 0);
  bar.start(total, 0, { tried: 0, broke: 0, group: prepared[0].name });
  refreshing(bar, () => bar.update(board.summary()));
  try {
    for (const { name, attempts } of prepared) {
      bar.update({ group: name });
      for (const attempt of attempts) {
        await attempt();
        bar.increment();
      }
    }
  } finally {
    bar.stop();
  }
  for (const note of board.notes) printError(note);
  for (const breach of board.breaches) print(breach);
  const summary = board.summary();
  print(JSON.stringify(summary));
  return summary.ok;
}

await command({ usage: USAGE, options, known: [StoppedError, StartError, ApiError, UnreachableError], run: main });
process.exit();
