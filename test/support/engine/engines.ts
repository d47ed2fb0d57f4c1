import { describe } from "vitest";
import { chromium } from "./chromium.ts";
import type { Engine } from "./engine.ts";
import { firefox } from "./firefox.ts";
import { webkit } from "./webkit.ts";

export const engines: readonly Engine[] = [chromium, firefox, webkit];

/**
 * A suite for each engine that is installed. `test/browser/engines.test.ts` reports those that are not. Concurrent suites run beside each
 * other: for tests that mostly wait.
 */
export function describeInEngines(suite: (engine: Engine) => void, { concurrent = false } = {}): void {
  for (const engine of engines.filter(({ installed }) => installed))
    describe(engine.name, { shuffle: false, concurrent }, () => suite(engine));
}
