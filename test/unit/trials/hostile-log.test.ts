import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { delayLinTs, evaluate, evaluateLists, UnsupportedError, uniform } from "afterclick";
import { describe, expect, it } from "vitest";
import { ComparisonError, checkArms } from "../../../cli/compare/logged-arms.ts";
import { SourceError } from "../../../cli/evaluate/source.ts";
import { LogMismatch } from "../../../cli/log/event-line.ts";
import { verify } from "../../../cli/verify/verification.ts";
import { changedLog } from "../../../trials/attack/hostile-log.ts";
import { liftOf } from "../../../worker/domain/figures/lift.ts";
import { receipted } from "../../../worker/domain/ids/receipt.ts";
import { armsOf } from "../../support/logs/arms.ts";
import { stream } from "../../support/scenario.ts";
import { eventSource } from "../../worker/support/event-source.ts";

// Logs that another program has changed. Each command refuses them by name, or its figures are numbers.

const KINDS = ["default", "funnel"];
const logOf = (kind: string): string[] =>
  gunzipSync(readFileSync(`test/fixtures/0.1.0/${kind}/events.jsonl.gz`))
    .toString()
    .trimEnd()
    .split("\n");

/** Every second impression is one of a holdout, so that the arms can be compared. */
const withHoldout = (lines: readonly string[]): string[] =>
  lines.map((line, i) =>
    (i % 2 === 0 ? line.replace('"arm":"policy"', '"arm":"holdout"') : line).replace('"holdout":0,', '"holdout":0.5,'),
  );

const progress = () => {};

async function evaluated(lines: readonly string[]) {
  const { decisions: log, lists, window, goals, reward, end, dimension } = await eventSource(lines, { progress });
  if (log.length === 0) throw new SourceError("no decision");
  const policy = delayLinTs({ dimension });
  const request = { asOf: end, window, goals, reward, split: 0.5, draws: 4, seed: 0 };
  return [
    await evaluate({ ...request, log, policy }),
    lists && (await evaluateLists({ ...request, log: lists.lists, policy: uniform(), examination: [1] })),
  ];
}

async function compared(lines: readonly string[]) {
  const arms = await armsOf(withHoldout(lines));
  checkArms(arms);
  return arms.goals.map((goal) => liftOf(arms.counts, goal, arms.windows, { effect: 0.01, alpha: 0.05, now: arms.end }));
}

/** The log with receipts that fit, as another program may write them. */
function withReceipts(lines: readonly string[]): string[] {
  let before = "";
  return lines.map((line) => {
    try {
      const { receipt: _, ...own } = JSON.parse(line);
      const { text, receipt } = receipted(own, before);
      before = receipt;
      return text;
    } catch {
      return line;
    }
  });
}

const isNumber = (value: unknown): boolean =>
  typeof value === "number" ? !Number.isNaN(value) : value === null || typeof value !== "object" || Object.values(value).every(isNumber);

describe.each(KINDS)("a log of %s with a change", (kind) => {
  const lines = logOf(kind);
  it.each([
    ["evaluate", 40, evaluated, [SourceError, LogMismatch, UnsupportedError]],
    ["compare", 80, compared, [ComparisonError, LogMismatch]],
    ["verify", 12, (changed: readonly string[]) => verify(() => withReceipts(changed)), [LogMismatch]],
  ] as const)("is refused by name, or `%s` gives numbers, for %i changes", async (_, changes, run, known) => {
    const random = stream(kind.length);
    const wrong: string[] = [];
    let held = 0;
    for (let i = 0; i < changes; i++) {
      const changed = changedLog(lines, (most) => Math.floor(random() * most));
      const place = changed.findIndex((line, at) => line !== lines[at]);
      const sent = `${i}: ${changed[place]?.slice(0, 200)}`;
      try {
        if (!isNumber(await run(changed))) wrong.push(`${sent}: NaN`);
        held++;
      } catch (error) {
        if (!known.some((each) => error instanceof each))
          wrong.push(`${sent}: ${(error as Error).stack?.split("\n").slice(0, 4).join(" ")}`);
        else if (/is not a function|not iterable|Cannot read/.test((error as Error).message))
          wrong.push(`${sent}: ${(error as Error).message}`);
      }
    }
    expect(wrong).toEqual([]);
    expect(held).toBeGreaterThan(changes / 20);
    expect(held).toBeLessThan(changes);
  });
});
