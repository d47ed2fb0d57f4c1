// The project's test configuration with a selection of tests. Sends a report as soon as a test has ended.
import { readFileSync } from "node:fs";
import { isAbsolute, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { defineConfig, mergeConfig } from "vitest/config";
import { BaseSequencer, type Reporter, type TestCase, type TestModule, type TestSpecification } from "vitest/node";
import workerConfig from "../../test/worker/vitest.config.ts";
import config from "../../vitest.config.ts";
import { type Report, SELECTION, type Selection } from "./selection.ts";

const root = fileURLToPath(new URL("../..", import.meta.url).href);
const selection: Selection = JSON.parse(readFileSync(process.env[SELECTION] as string, "utf8"));
const order = new Map(selection.files.map(([file], place) => [file, place]));
const fileOf = (path: string): string => (isAbsolute(path) ? relative(root, path) : path);

class Sequencer extends BaseSequencer {
  override async sort(specifications: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification): number => order.get(fileOf(moduleId)) ?? 0;
    return specifications.toSorted((a, b) => place(a) - place(b));
  }
}

class Messenger implements Reporter {
  onTestCaseResult(test: TestCase): void {
    const { state } = test.result();
    if (state === "skipped") return;
    const { places = [], placesOfFile = [] } = test.meta();
    this.#say({
      file: fileOf(test.module.moduleId),
      name: test.fullName,
      failed: state === "failed",
      ms: test.diagnostic()?.duration ?? 0,
      places,
      placesOfFile,
    });
  }
  onTestModuleEnd(module: TestModule): void {
    const suites = Array.from(module.children.allSuites());
    if (module.errors().length === 0 && suites.every((suite) => suite.errors().length === 0)) return;
    this.#say({ file: fileOf(module.moduleId), name: "(outside its tests)", failed: true, ms: 0, places: [], placesOfFile: [] });
  }
  #say(report: Report): void {
    process.send?.(report);
  }
}

const added = { test: { setupFiles: [fileURLToPath(new URL("selected.ts", import.meta.url).href)], provide: { selection } } };
const own = (config.test?.projects ?? []) as readonly { readonly test?: { readonly name?: string } }[];
const projects = own.filter(({ test }) => ["node", "long", "system"].includes(test?.name ?? ""));
export default defineConfig({
  root,
  test: {
    ...config.test,
    maxWorkers: 1,
    reporters: [new Messenger()],
    sequence: { sequencer: Sequencer },
    projects: [...projects, workerConfig].map((project) => mergeConfig(project, added)),
  },
});
