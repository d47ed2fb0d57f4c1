// The line that says how far a match has come, on the screen and to screen readers.

import { useState } from "hono/jsx/dom";
import { counted, decimal, whole } from "../../ui/notation.ts";
import type { MatchReport } from "../match.ts";
import { ranges, type Settings } from "../settings.ts";
import type { Run } from "./runner.ts";

interface StatusProps {
  readonly run: Run;
  readonly settings: Settings;
  /** Errors in the URL's query. */
  readonly problems: readonly string[];
  stop(): void;
  play(): void;
  change(settings: Settings): void;
}

function missed({ players }: MatchReport): string {
  const regrets = players.map(({ name, regret }) => `${name} ${decimal(regret.at(-1) as number)}`);
  return `Missed: ${regrets.join(", ")}.`;
}

/** The text of the live region. It changes at each quarter and at the end, so that screen readers do not read every report. */
function spoken(run: Run): string {
  if (run.state === "failed") return "";
  if (run.state === "done") {
    const { rounds } = run.report;
    return `Done: ${counted(rounds, "round")} in ${(run.ms / 1000).toFixed(run.ms < 10_000 ? 2 : 0)} s. ${missed(run.report)}`;
  }
  if (run.state === "stopped" && run.report) return `Stopped after ${counted(run.report.round, "round")}. ${missed(run.report)}`;
  if (run.state !== "running" || !run.report) return "";
  const quarter = Math.floor((4 * run.report.round) / run.report.rounds);
  return quarter === 0 ? "Playing." : `Playing: ${["a quarter", "half", "three quarters"][quarter - 1]} is played.`;
}

function CopyLink() {
  const [copied, setCopied] = useState("");
  const copy = () =>
    navigator.clipboard.writeText(location.href).then(
      () => setCopied("Copied"),
      () => setCopied("Copy it from the address bar"),
    );
  return (
    <button type="button" onClick={() => void copy()}>
      {copied || "Copy link"}
    </button>
  );
}

function Problems({ problems }: Pick<StatusProps, "problems">) {
  return (
    <div class="problem" role="alert">
      <p>Some settings in the URL are invalid. Their defaults apply.</p>
      <ul>
        {problems.map((problem) => (
          <li key={problem}>{problem}</li>
        ))}
      </ul>
    </div>
  );
}

/** The progress of the match, and its buttons. */
export function Status({ run, settings, problems, stop, play, change }: StatusProps) {
  const running = run.state === "running";
  const round = "report" in run && run.report ? run.report.round : 0;
  const again = { ...settings, seed: (settings.seed + 1) % (ranges.seed[1] + 1) };
  return (
    <section class="status" aria-label="Match">
      {problems.length > 0 && <Problems problems={problems} />}
      {run.state === "failed" && (
        <p class="problem" role="alert">
          {run.problem}
        </p>
      )}
      <div class="bar">
        <label class="progress">
          <span>
            Round {whole(round)} of {whole(settings.rounds)}
          </span>
          <progress max={settings.rounds} value={round} />
        </label>
        <div class="actions">
          <button type="button" class="primary" onClick={running ? stop : play}>
            {running ? "Stop" : "Play again"}
          </button>
          <button type="button" onClick={() => change(again)}>
            Next seed
          </button>
          <CopyLink />
        </div>
      </div>
      <p class="spoken quiet" role="status" data-state={run.state}>
        {spoken(run)}
      </p>
    </section>
  );
}
