import { format } from "node:util";
import { vi } from "vitest";
import type { Answer } from "./calls.ts";

class Exit extends Error {}

/** The answer of a command that runs in this process. */
export async function ran(run: (args: readonly string[]) => Promise<void>, ...args: string[]): Promise<Answer> {
  const written = { stdout: "", stderr: "" };
  const to =
    (stream: keyof typeof written) =>
    (message: unknown, ...rest: unknown[]) => {
      written[stream] += `${format(message, ...rest)}\n`;
    };
  const spies = [
    vi.spyOn(console, "log").mockImplementation(to("stdout")),
    vi.spyOn(console, "error").mockImplementation(to("stderr")),
    vi.spyOn(process.stderr, "write").mockImplementation(() => true),
    vi.spyOn(process, "exit").mockImplementation((code): never => {
      process.exitCode = code ?? undefined;
      throw new Exit();
    }),
  ];
  const before = process.exitCode;
  try {
    process.exitCode = undefined;
    await run(args).catch((error) => {
      if (!(error instanceof Exit)) throw error;
    });
    return { code: Number(process.exitCode ?? 0), ...written };
  } finally {
    process.exitCode = before;
    for (const spy of spies) spy.mockRestore();
  }
}
