import { Worker } from "node:worker_threads";
import type { Fate, Task } from "./crafted-worker.ts";

/** A snapshot that takes longer hangs. A busy machine is no reason. */
const PATIENCE_MS = 60_000;

/** The fates of snapshots. Fails with the name of the snapshot that hangs. */
export function fates(task: Task): Promise<Fate[]> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL("./crafted-worker.ts", import.meta.url), { workerData: task });
    let place = JSON.stringify(task);
    const hangs = (): void => {
      void worker.terminate();
      reject(new Error(`${place} hangs`));
    };
    let timer = setTimeout(hangs, PATIENCE_MS);
    worker.on("message", (message: string | Fate[]) => {
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
