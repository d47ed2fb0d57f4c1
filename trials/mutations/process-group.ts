import type { ChildProcess } from "node:child_process";
import { once } from "node:events";

/**
 * Waits for a child that leads a process group (spawned with `detached`).
 * Kills the whole group when the child sends no message for `silenceMs`, on abort, and when this process exits.
 *
 * @returns the exit code; `null` if the group was killed
 * @throws the signal's reason if it is aborted
 */
export async function exitCodeOf(child: ChildProcess, silenceMs: number, signal: AbortSignal): Promise<number | null> {
  const kill = () => process.kill(-(child.pid as number), "SIGKILL");
  const timer = setTimeout(kill, silenceMs);
  child.on("message", () => timer.refresh());
  signal.addEventListener("abort", kill);
  process.once("exit", kill);
  const [code] = await once(child, "exit");
  clearTimeout(timer);
  signal.removeEventListener("abort", kill);
  process.off("exit", kill);
  signal.throwIfAborted();
  return code;
}
