// npm run attack: sends a local worker what strangers, pages, forgers and retries may send, kills it, and counts what did not hold.

import { command, numberIn, type Values, wholeNumber } from "../cli/command/command.ts";
import { progressBar, refreshing } from "../cli/command/progress.ts";
import { print, printError } from "../cli/command/terminal.ts";
import { ApiError, UnreachableError } from "../cli/worker/api.ts";
import { freshSecrets } from "../cli/worker/dev-vars.ts";
import { StartError } from "../cli/worker/worker-process.ts";
import { amounts } from "./attack/groups/amounts.ts";
import { auth } from "./attack/groups/auth.ts";
import { cost } from "./attack/groups/cost.ts";
import { disclosure } from "./attack/groups/disclosure.ts";
import { extremes } from "./attack/groups/extremes.ts";
import { growth } from "./attack/groups/growth.ts";
import { kills } from "./attack/groups/kills.ts";
import { logs } from "./attack/groups/logs.ts";
import { orders, SENDER_SECRETS } from "./attack/groups/orders.ts";
import { pageRights } from "./attack/groups/page-rights.ts";
import { races } from "./attack/groups/races.ts";
import { shares } from "./attack/groups/shares.ts";
import { tokens } from "./attack/groups/tokens.ts";
import { webhooks } from "./attack/groups/webhooks.ts";
import { Scoreboard } from "./attack/scoreboard.ts";
import { type Group, Stage } from "./attack/stage.ts";
import { Target } from "./attack/target.ts";
import { onStand, StoppedError } from "./soak/victim.ts";

const DEFAULT_MINUTES = 3;
const LONGEST_MS = 10 * 60_000;
const GRACE_MS = 60_000;
const PROGRESS = "{bar} {percentage}% | {tried} tried, {broke} broke | {group} | {duration_formatted}";

const USAGE = `Attacks a local worker: keys, impression ids, webhooks, extremes of every schema, large amounts, histories of orders, hostile logs, the cost of a page's requests, the rights
of pages and their shares, what refusals disclose, races, growing shards and kills. Starts its own worker with empty state and touches no other.

Usage: npm run attack [-- --seed N] [--minutes M]

  --seed N      seed of the requests, default 1. The same seed sends the same requests, up to keys, impression ids and times
  --minutes M   approximate length, default ${DEFAULT_MINUTES}, from 0.5 to 8

Example: npm run attack -- --seed 7 --minutes 2

Each breach is a line. The last line is JSON. Exit code 1: something did not hold. Takes at most ${LONGEST_MS / 60_000} minutes.`;

const options = {
  seed: { type: "string", default: "1" },
  minutes: { type: "string", default: String(DEFAULT_MINUTES) },
} as const;

async function main(values: Values<typeof options>): Promise<boolean> {
  const seed = wholeNumber("--seed", values.seed, 0);
  const scale = numberIn("--minutes", values.minutes, 0.5, 8) / DEFAULT_MINUTES;
  // The whole content of a sender without its name.
  const { AFTERCLICK_JOIN_KEY: misplaced } = freshSecrets();
  const senders = Object.entries({
    ...SENDER_SECRETS,
    AFTERCLICK_SENDERS: `'${JSON.stringify({ header: "x-signature", secret: misplaced })}'`,
  });
  const variables = senders.map(([name, value]) => `${name}=${value}\n`).join("");
  return onStand({ graceMs: GRACE_MS, variables, longestMs: LONGEST_MS, advice: "Try fewer --minutes." }, ({ victim, base, secrets }) => {
    const groups = [
      ...[auth, tokens, webhooks, extremes, amounts, orders, logs, cost(() => victim.group)],
      ...[pageRights, disclosure(misplaced), shares, races, growth, kills(victim, GRACE_MS)],
    ];
    return attack(groups, { target: new Target(base, secrets), board: new Scoreboard(), seed, scale });
  });
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
