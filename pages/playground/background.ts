// A Web Worker that plays a match. The page posts the settings, and the worker posts reports. To stop the match, terminate the worker.
import { Match, type MatchReport } from "./match.ts";
import type { Settings } from "./settings.ts";

/** A message to the page. */
export type Progress = { readonly report: MatchReport; readonly ms: number } | { readonly problem: string; readonly forbidden: boolean };

/** Time between two reports. Short enough to look live, long enough to cost little. */
const REPORT_MS = 150;
/** Duration of a match at slow pace. */
const SLOW_MS = 15_000;

async function play(settings: Settings): Promise<void> {
  const started = performance.now();
  const match = await Match.create(settings);
  const report = () => postMessage({ report: match.report(), ms: performance.now() - started } satisfies Progress);
  const perReport = settings.pace === "slow" ? Math.ceil((settings.rounds * REPORT_MS) / SLOW_MS) : Number.POSITIVE_INFINITY;
  let reportedAt = started;
  let steps = 0;
  while (!match.done) {
    match.step();
    steps++;
    if (steps === perReport) await new Promise((resolve) => setTimeout(resolve, REPORT_MS));
    if (steps < perReport && performance.now() < reportedAt + REPORT_MS) continue;
    if (!match.done) report();
    reportedAt = performance.now();
    steps = 0;
  }
  report();
}

addEventListener("message", ({ data }: MessageEvent<Settings>) => {
  play(data).catch(({ message }: Error) => {
    // Browsers word it differently, and all name the Content Security Policy.
    const forbidden = /CSP|Content.Security.Policy/i.test(message);
    postMessage({ problem: message, forbidden } satisfies Progress);
  });
});
