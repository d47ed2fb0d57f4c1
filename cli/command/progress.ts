import progress, { type Options, Presets, SingleBar } from "cli-progress";

const MINUTE_MS = 60_000;

/** A progress bar on standard error. Without a terminal it prints a line a minute, because that output is kept in a file. */
export function progressBar(format: string, { clearOnComplete = false } = {}): SingleBar {
  const look = { format, noTTYOutput: true, notTTYSchedule: MINUTE_MS, hideCursor: !clearOnComplete };
  return new SingleBar({ ...look, clearOnComplete, formatTime }, Presets.rect);
}

/** Before the first step, nobody knows how long the rest takes. */
export function formatTime(seconds: number, options: Options, roundToMultipleOf: number): string {
  return Number.isFinite(seconds) ? progress.Format.TimeFormat(seconds, options, roundToMultipleOf) : "unknown time";
}

/** Calls `refresh` five times a second until the bar stops. */
export function refreshing(bar: SingleBar, refresh: () => void): SingleBar {
  const timer = setInterval(refresh, 200);
  return bar.once("stop", () => clearInterval(timer));
}

/** A bar for `what`, such as "events". It starts with the first update, and disappears at the end. */
export function countingBar(what: string) {
  const bar = progressBar(`{bar} {percentage}% | {value}/{total} ${what} | {eta_formatted} left`, { clearOnComplete: true });
  return {
    update(done: number, all: number) {
      if (!bar.isActive) bar.start(all, done);
      bar.setTotal(all);
      bar.update(done);
    },
    stop: () => bar.stop(),
  };
}

/** Bars that follow each other: the first update of one ends the bar before it. */
export function countingBars(...names: readonly string[]) {
  const bars = names.map(countingBar);
  const updates = bars.map((bar, i) => (done: number, all: number): void => {
    bars[i - 1]?.stop();
    bar.update(done, all);
  });
  return { updates, stop: () => bars.forEach((bar) => void bar.stop()) };
}
