// Set-up of every test file: skips the tests that are not selected, and records the places that each test reaches.
import { afterEach, beforeEach, inject } from "vitest";

interface Reached {
  mutantCoverage?: { static: Record<string, number>; perTest: Record<string, Record<string, number>> };
  currentTestId?: string;
}

const { files, places } = inject("selection");
const names = new Map(files.map(([file, tests]) => [file, tests && new Set(tests)]));
const scope = globalThis as { __stryker__?: Reached };
scope.__stryker__ ??= {};
const reached: Reached = scope.__stryker__;

beforeEach(({ task, skip }) => {
  const chosen = Array.from(names).find(([file]) => task.file.filepath.endsWith(file))?.[1];
  if (chosen && !chosen.has(task.fullTestName)) skip();
  reached.currentTestId = task.id;
});

if (places) {
  afterEach(({ task }) => {
    const { static: outside = {}, perTest = {} } = reached.mutantCoverage ?? {};
    task.meta.places = Object.keys(perTest[task.id] ?? {});
    task.meta.placesOfFile = Object.keys(outside);
    if (reached.mutantCoverage) {
      reached.mutantCoverage.static = {};
      delete perTest[task.id];
    }
    reached.currentTestId = undefined;
  });
}
