import type { Reporter, TestModule } from "vitest/node";

/** Says why tests were skipped, and ends a run with one machine-readable line. */
export default class CountReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    const count = { passed: 0, failed: errors.length, skipped: 0, pending: 0 };
    for (const module of modules) {
      for (const test of module.children.allTests()) {
        const result = test.result();
        count[result.state]++;
        if (result.state === "skipped" && result.note) console.log(`\nSkipped: ${result.note}`);
      }
      // A file or suite can fail outside its tests, for instance in a hook.
      count.failed += module.errors().length;
      for (const suite of module.children.allSuites()) count.failed += suite.errors().length;
    }
    console.log(`\n${count.passed} passed, ${count.failed} failed, ${count.skipped + count.pending} skipped`);
  }
}
