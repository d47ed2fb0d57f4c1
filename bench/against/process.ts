import { fork } from "node:child_process";
import { on, once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Missing } from "../variant.ts";
import type { Prepared, Purpose, Workload } from "../workload.ts";
import type { Build } from "./build.ts";

/** A message from a measuring process. */
export type Answer = { readonly ready: true } | Missing | { readonly value: number };

interface Measured {
  readonly measure: () => Promise<number>;
  readonly close: () => Promise<void>;
}

/**
 * A workload with a variant "before", which is the variant "afterclick" of another build. Both run in a process of their own, so that
 * what else has run in this process changes neither.
 */
export function beside(workload: Workload, file: string, before: Build | Missing): Workload {
  return {
    ...workload,
    async prepare(purpose = {}) {
      const prepared = await workload.prepare(purpose);
      const started: Record<string, Measured | Missing> = {};
      const close = async () => {
        for (const each of Object.values(started)) if ("close" in each) await each.close();
        await prepared.close?.();
      };
      try {
        started.afterclick = await start(workload, file, process.cwd(), purpose);
        started.before = "missing" in before ? before : await start(workload, file, before.root, purpose);
      } catch (error) {
        await close();
        throw error;
      }
      return { ...withVariants(prepared, started), close };
    },
  };
}

/** Puts the started variants first, and keeps the others. */
function withVariants(prepared: Prepared, { afterclick, before }: Readonly<Record<string, Measured | Missing>>): Prepared {
  if ("missing" in before || "missing" in afterclick) {
    const why = "missing" in before ? before : (afterclick as Missing);
    return { ...prepared, missing: { ...prepared.missing, before: why.missing } };
  }
  return { ...prepared, variants: { ...prepared.variants, afterclick: afterclick.measure, before: before.measure } };
}

/** Starts a process that measures a workload with the package in a folder. The folder is also its working directory. */
async function start({ name }: Workload, file: string, root: string, { quick }: Purpose): Promise<Measured | Missing> {
  const child = fork(fileURLToPath(new URL("measured.ts", import.meta.url)), [file, name, ...(quick ? ["quick"] : [])], {
    cwd: root,
    env: { ...process.env, AFTERCLICK_ROOT: root },
    execArgv: ["--import", new URL("package.ts", import.meta.url).href],
  });
  const ended = once(child, "exit");
  const answers = on(child, "message", { close: ["exit"] });
  const next = async (): Promise<Answer> => {
    const { value, done } = await answers.next();
    return done ? { missing: "its process ended before it answered; look at its output above" } : value[0];
  };
  const first = await next();
  if ("missing" in first) {
    if (child.connected) child.disconnect();
    await ended;
    return first;
  }
  return {
    async measure() {
      child.send("measure");
      const answer = await next();
      if ("value" in answer) return answer.value;
      throw new Error(`${name} in ${root}: expected a measurement, got ${JSON.stringify(answer)}`);
    },
    async close() {
      child.disconnect();
      await ended;
    },
  };
}
