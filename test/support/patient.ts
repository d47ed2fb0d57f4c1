import type { Page } from "playwright-core";

/** Lets a page wait a minute for the worker: a busy machine answers late. */
export async function patient(page: Page): Promise<void> {
  await page.addInitScript(`
    const [later, aborted] = [setTimeout, AbortSignal.timeout];
    AbortSignal.timeout = () => aborted.call(AbortSignal, 60_000);
    globalThis.setTimeout = (run, ms) => later(run, String(run).includes("did not answer") ? 60_000 : ms);
  `);
}
