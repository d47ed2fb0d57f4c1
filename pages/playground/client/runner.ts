import type { Told } from "../background.ts";
import type { MatchReport } from "../match.ts";
import type { Settings } from "../settings.ts";

/** How a match stands. */
export type Run =
  | { readonly state: "idle" }
  | { readonly state: "running" | "stopped"; readonly report?: MatchReport }
  | { readonly state: "done"; readonly report: MatchReport; readonly ms: number }
  | { readonly state: "failed"; readonly problem: string };

/** Plays one match at a time in a Web Worker of its own, so that the page stays quick and a match can be ended at any time. */
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
      this.#tell({
        state: "failed",
        problem: "This browser has no WebAssembly, or has it turned off. The playground cannot run without it.",
      });
      return;
    }
    const worker = new Worker(new URL("./background.js", import.meta.url), { type: "module" });
    this.#worker = worker;
    this.#tell({ state: "running", report: undefined });
    worker.addEventListener("message", ({ data }: MessageEvent<Told>) => {
      if (worker !== this.#worker) return;
      if ("problem" in data) this.#end({ state: "failed", problem: data.problem });
      else if (data.report.round < data.report.rounds) this.#tell({ state: "running", report: data.report });
      else this.#end({ state: "done", ...data });
    });
    worker.addEventListener("error", () => {
      if (worker === this.#worker)
        this.#end({ state: "failed", problem: "The simulation could not be loaded. Reload the page to try again." });
    });
    worker.postMessage(settings);
  }

  /** Ends the match where it stands. */
  stop(): void {
    if (this.#run.state === "running") this.#end({ state: "stopped", report: this.#run.report });
  }

  #end(run: Run): void {
    this.#worker?.terminate();
    this.#worker = undefined;
    this.#tell(run);
  }

  #tell(run: Run): void {
    this.#run = run;
    this.#changed(run);
  }
}
