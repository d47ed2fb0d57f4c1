import { StartError, type WorkerOptions, WorkerProcess } from "../../scripts/worker-process.ts";

/** A worker that is killed repeatedly and restarts with its stored state. */
export class Victim {
  /** Times of the kills, ms since 1970. */
  readonly kills: number[] = [];
  readonly #options: WorkerOptions;
  readonly #died: Promise<never>;
  #surprise: (error: Error) => void = () => {};
  #worker?: WorkerProcess;

  constructor(options: WorkerOptions) {
    this.#options = options;
    this.#died = new Promise((_, reject) => {
      this.#surprise = reject;
    });
    // Avoids an unhandled rejection if nobody awaits `died`.
    this.#died.catch(() => {});
  }

  /** Starts the worker. Resolves when it answers. @throws {StartError} if it does not. */
  async start(): Promise<void> {
    const worker = new WorkerProcess(this.#options);
    this.#worker = worker;
    worker.died().catch((error) => {
      if (this.#worker === worker) this.#surprise(error);
    });
    await Promise.race([worker.healthy(), this.died()]);
  }

  /** The process group of the running worker. */
  get group(): number {
    if (this.#worker?.group === undefined) throw new StartError("The worker does not run.");
    return this.#worker.group;
  }

  /** Never resolves. @throws {StartError} if the worker ends without a kill. */
  died(): Promise<never> {
    return this.#died;
  }

  /** Kills the worker at once. */
  async kill(): Promise<void> {
    const worker = this.#worker;
    this.#worker = undefined;
    this.kills.push(Date.now());
    await worker?.kill();
  }
}
