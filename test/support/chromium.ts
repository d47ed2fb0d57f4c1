import { execFileSync } from "node:child_process";
import { type Browser, chromium } from "playwright-core";

function find(): string | undefined {
  try {
    return execFileSync("sh", ["-c", "command -v chromium"], { encoding: "utf8" }).trim();
  } catch {
    return undefined;
  }
}

const path = find();

/** Whether browser tests run; where chromium is required, they run and fail without it. */
export const hasChromium = path !== undefined || process.env.REQUIRE_CHROMIUM === "1";
if (!hasChromium) console.warn("chromium is not installed: tests in a browser are skipped (Debian: apt-get install chromium)");

export function launchChromium(): Promise<Browser> {
  if (!path) throw new Error("REQUIRE_CHROMIUM=1, but there is no chromium");
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
