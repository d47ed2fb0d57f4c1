// Starts and stops matches in Web Workers, so that the page stays responsive.

import type { Progress } from "../background.ts";
import type { MatchReport } from "../match.ts";
import type { Settings } from "../settings.ts";

const NO_WEBASSEMBLY = "The playground needs WebAssembly, and this browser does not offer it. Turn WebAssembly on, or use another browser.";
const FORBIDDEN = "The playground needs WebAssembly, and this browser or its policy forbids it. Allow WebAssembly, or use another browser.";
const NOT_LOADED = "The simulation could not be loaded. Reload the page to try again.";

/** The state of a match. */
export type Run =
  | { readonly state: "idle" }
  | { readonly state: "running" | "stopped"; readonly report?: MatchReport }
  | { readonly state: "done"; readonly report: MatchReport; readonly ms: number }
  | { readonly state: "failed"; readonly problem: string };

/** Plays one match at a time, each in its own Web Worker. So the page stays responsive, and a match can be stopped at any time. */
export class Runner {
  readonly #changed: (run: Run) => void;
  #worker: Worker | undefined;
  #run: Run = { state: "idle" };

  constructor(changed: (run: Run) => void) {
    this.#changed = changed;
  }

  start(settings: Settings): void {
    this.#worker?.terminate();
    if (typeof WebAssembly !== "object") {
      this.#update({ state: "failed", problem: NO_WEBASSEMBLY });
      return;
    }
    const worker = new Worker(new URL("./background.js", import.meta.url), { type: "module" });
    this.#worker = worker;
    this.#update({ state: "running", report: undefined });
    worker.addEventListener("message", ({ data }: MessageEvent<Progress>) => {
      if (worker !== this.#worker) return;
      if ("problem" in data) this.#end({ state: "failed", problem: data.forbidden ? FORBIDDEN : data.problem });
      else if (data.report.round < data.report.rounds) this.#update({ state: "running", report: data.report });
      else this.#end({ state: "done", ...data });
    });
    worker.addEventListener("error", () => {
      if (worker === this.#worker) this.#end({ state: "failed", problem: NOT_LOADED });
    });
    worker.postMessage(settings);
  }

  /** Stops the match and keeps its last report. */
  stop(): void {
    if (this.#run.state === "running") this.#end({ state: "stopped", report: this.#run.report });
  }

  #end(run: Run): void {
    this.#worker?.terminate();
    this.#worker = undefined;
    this.#update(run);
  }

  #update(run: Run): void {
    this.#run = run;
    this.#changed(run);
  }
}
