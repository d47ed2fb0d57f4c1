// A worker that a trial starts, kills and starts again, with the same stored state.

import { appendFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freshSecrets, writeDevVars } from "../../cli/worker/dev-vars.ts";
import { anyFreePort, askedToStop, HOST, StartError, type WorkerOptions, WorkerProcess } from "../../cli/worker/worker-process.ts";

const MINUTE_MS = 60_000;

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

/** A signal, or a trial that takes too long. */
export class StoppedError extends Error {}

/** The surroundings of a trial: a running worker with empty state, and its secrets. */
export interface Stand {
  readonly victim: Victim;
  readonly base: URL;
  /** Folder of the worker's state. */
  readonly state: string;
  readonly secrets: ReturnType<typeof freshSecrets>;
  /** Aborted when the trial ends. */
  readonly signal: AbortSignal;
}

interface StandOptions extends Pick<WorkerOptions, "entry"> {
  readonly graceMs: number;
  /** More lines of the file of secrets. */
  readonly variables?: string;
  readonly longestMs: number;
  /** How the caller shortens the trial. */
  readonly advice: string;
}

/**
 * Runs a trial against a worker of its own. Ends the worker and removes its state afterwards.
 *
 * @throws {StartError} if the worker ends without a kill. @throws {StoppedError} on a signal, or after `longestMs`.
 */
export async function onStand<Result>(
  { entry, graceMs, variables = "", longestMs, advice }: StandOptions,
  trial: (stand: Stand) => Promise<Result>,
): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), "afterclick-trial-"));
  const [secretsFile, state] = [join(folder, "secrets.env"), join(folder, "state")];
  const secrets = freshSecrets();
  await writeDevVars({ ...secrets, AFTERCLICK_GRACE_MS: String(graceMs) }, secretsFile);
  await appendFile(secretsFile, variables);
  const port = await anyFreePort();
  const victim = new Victim({ port, state, secretsFile, entry, logLevel: "error" });
  const controller = new AbortController();
  const { signal } = controller;
  const run = async () => {
    await victim.start();
    return trial({ victim, base: new URL(`http://${HOST}:${port}`), state, secrets, signal });
  };
  const late = async (): Promise<never> => {
    await sleep(longestMs, undefined, { signal, ref: false });
    throw new StoppedError(`The trial did not end within ${longestMs / MINUTE_MS} minutes. ${advice}`);
  };
  const asked = async (): Promise<never> => {
    await askedToStop();
    throw new StoppedError("Stopped by a signal.");
  };
  try {
    return await Promise.race([run(), victim.died(), late(), asked()]);
  } finally {
    controller.abort();
    await victim.kill();
    await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }
}
