// Set-up of every test file: skips the tests that are not selected, and records the places that each test reaches.
import { afterEach, beforeEach, inject } from "vitest";
import { placesReached } from "./places.ts";

const { files, places } = inject("selection");
const names = new Map(files.map(([file, tests]) => [file, tests && new Set(tests)]));

beforeEach(({ task, skip }) => {
  const chosen = Array.from(names).find(([file]) => task.file.filepath.endsWith(file))?.[1];
  if (chosen && !chosen.has(task.fullTestName)) skip();
  // Reached while the file was loaded, or in its hooks.
  if (places) task.meta.placesOfFile = placesReached();
});

if (places) {
  afterEach(({ task }) => {
    task.meta.places = placesReached();
  });
}
