import { execFileSync } from "node:child_process";
import { type Browser, chromium } from "playwright-core";
import { describe } from "vitest";

function find(): string | undefined {
  try {
    return execFileSync("sh", ["-c", "command -v chromium"], { encoding: "utf8" }).trim();
  } catch {
    return undefined;
  }
}

const path = find();

/** Whether chromium is installed. Without it no test of a page is generated; `test/browser/chromium.test.ts` says so once. */
export const hasChromium = path !== undefined;

/** A suite that needs chromium. Its tests share a page, so they keep their order when a run is shuffled. */
export function describeInChromium(name: string, suite: () => void): void {
  if (hasChromium) describe(name, { shuffle: false }, suite);
}

export function launchChromium(): Promise<Browser> {
  return chromium.launch({
    executablePath: path,
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
