import { Worker } from "node:worker_threads";
import type { Fate, Task } from "./crafted-worker.ts";

/** A snapshot that takes longer hangs. A busy machine is no reason. */
const PATIENCE_MS = 60_000;

/** The fates of snapshots. Fails with the name of the snapshot that hangs. */
export const fates = (task: Task): Promise<Fate[]> => fatesBy(new URL("./crafted-worker.ts", import.meta.url), task);

/** The fates that a script finds in a thread. It names each thing before it reads it, and sends all fates at its end. */
export function fatesBy<One>(script: URL, task: object): Promise<One[]> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(script, { workerData: task });
    let place = JSON.stringify(task);
    const hangs = (): void => {
      void worker.terminate();
      reject(new Error(`${place} hangs`));
    };
    let timer = setTimeout(hangs, PATIENCE_MS);
    worker.on("message", (message: string | One[]) => {
      clearTimeout(timer);
      if (typeof message !== "string") return resolve(message);
      place = message;
      timer = setTimeout(hangs, PATIENCE_MS);
    });
    worker.on("error", (error) => {
      clearTimeout(timer);
      reject(new Error(`${place}: ${error}`));
    });
  });
}
