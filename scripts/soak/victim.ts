import { type WorkerOptions, WorkerProcess } from "../worker-process.ts";

/** A worker that is killed again and again, and starts again with what it had stored. */
export class Victim {
  /** When it was killed, ms since 1970. */
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
    // Whether anybody waits for it or not.
    this.#died.catch(() => {});
  }

  /** Resolves when it answers. @throws {StartError} if it does not. */
  async start(): Promise<void> {
    const worker = new WorkerProcess(this.#options);
    this.#worker = worker;
    worker.died().catch((error) => {
      if (this.#worker === worker) this.#surprise(error);
    });
    await Promise.race([worker.healthy(), this.died()]);
  }

  /** Never resolves. @throws {StartError} if it ends without having been killed here. */
  died(): Promise<never> {
    return this.#died;
  }

  /** Kills it in the middle of whatever it does. */
  async kill(): Promise<void> {
    const worker = this.#worker;
    this.#worker = undefined;
    this.kills.push(Date.now());
    await worker?.kill();
  }
}
