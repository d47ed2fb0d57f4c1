import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  interface ProvidedContext {
    /** Folder of the packed package, which all test files share. */
    readonly packaging: string;
  }
}

/** Makes the folder before the first test file, and removes it after the last. */
export default async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), "afterclick-packaging-"));
  provide("packaging", folder);
  return () => rm(folder, { recursive: true, force: true });
}
