// The Web Worker in which a match is played: it is told the settings, and tells how it goes. Whoever wants it to stop ends it.
import { Match, type MatchReport } from "./match.ts";
import type { Settings } from "./settings.ts";

/** What the page is told. */
export type Told = { readonly report: MatchReport; readonly ms: number } | { readonly problem: string };

/** Between two reports: often enough to look live, seldom enough to cost little. */
const TELL_MS = 150;
/** How long a slow match takes. */
const SLOW_MS = 15_000;

async function play(settings: Settings): Promise<void> {
  const started = performance.now();
  const match = await Match.create(settings);
  const tell = () => postMessage({ report: match.report(), ms: performance.now() - started } satisfies Told);
  const perReport = settings.pace === "slow" ? Math.ceil((settings.rounds * TELL_MS) / SLOW_MS) : Number.POSITIVE_INFINITY;
  let told = started;
  let steps = 0;
  while (!match.done) {
    match.step();
    steps++;
    if (steps === perReport) await new Promise((resolve) => setTimeout(resolve, TELL_MS));
    if (steps < perReport && performance.now() < told + TELL_MS) continue;
    if (!match.done) tell();
    told = performance.now();
    steps = 0;
  }
  tell();
}

addEventListener("message", ({ data }: MessageEvent<Settings>) => {
  play(data).catch((error: Error) => postMessage({ problem: error.message } satisfies Told));
});
