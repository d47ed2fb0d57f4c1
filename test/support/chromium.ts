import { execFileSync } from "node:child_process";
import { type Browser, chromium, type LaunchOptions } from "playwright-core";
import { describe } from "vitest";

function find(): string | undefined {
  try {
    return execFileSync("sh", ["-c", "command -v chromium"], { encoding: "utf8" }).trim();
  } catch {
    return undefined;
  }
}

/** Its program. Undefined if it is not installed. */
export const chromiumPath = find();

/** Whether Chromium is installed. Without it no browser tests are generated, and `test/browser/engines.test.ts` reports that. */
export const hasChromium = chromiumPath !== undefined;

/**
 * A suite that needs Chromium. Its tests share a page, so they keep their order in a shuffled run. Concurrent tests run beside each
 * other: each has a page of its own, and mostly waits.
 */
export function describeInChromium(name: string, suite: () => void, { concurrent = false } = {}): void {
  if (hasChromium) describe(name, { shuffle: false, concurrent }, suite);
}

export function launchChromium(options: LaunchOptions = {}): Promise<Browser> {
  return chromium.launch({
    ...options,
    executablePath: chromiumPath,
    headless: true,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
}
