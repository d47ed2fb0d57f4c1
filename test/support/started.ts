import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { end } from "./engine/engine.ts";

/** Starts a program, by default Node, and returns it with the address that its output names. */
export async function started(cwd: string, args: readonly string[], env: Record<string, string> = {}, program = process.execPath) {
  const child: ChildProcess = spawn(program, args, {
    cwd,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let complaint = "";
  child.stderr?.on("data", (text) => {
    complaint += text;
  });
  for await (const line of createInterface(child.stdout as NodeJS.ReadableStream)) {
    // Vite prints its address in colours.
    // biome-ignore lint/suspicious/noControlCharactersInRegex: that is how a terminal's colours begin.
    const [url] = /http:\/\/[\w.:]+/.exec(line.replaceAll(/\u001b\[\d+m/g, "")) ?? [];
    if (url) return { url, stop: () => end(child) };
  }
  throw new Error(`${args.join(" ")} ended without an address: ${complaint}`);
}
