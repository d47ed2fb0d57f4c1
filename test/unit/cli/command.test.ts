import { expect, it, vi } from "vitest";
import { prepared } from "../../../cli/command.ts";

it("shows the error of a process that has failed, whose code is a number", async () => {
  const said = vi.spyOn(console, "error").mockImplementation(() => {});
  const exit = vi.spyOn(process, "exit").mockImplementation(() => undefined as never);
  try {
    const failed = Object.assign(new Error("Command failed: node missing.ts"), { code: 1 });
    await prepared({ usage: "the usage", options: {}, run: () => Promise.reject(failed) })([]);
    expect(said.mock.calls).toEqual([[expect.stringMatching(/^Error: Command failed: node missing.ts/)]]);
    expect(exit.mock.calls).toEqual([[1]]);
  } finally {
    said.mockRestore();
    exit.mockRestore();
  }
});
