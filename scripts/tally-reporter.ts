/**
 * Prints the last line of a run: `N passed, N failed`, and `, N skipped` if there are any. It stands after the default
 * reporter in the list, so its line follows the summary.
 *
 * A file that cannot be loaded and an error outside every test count as failed: neither appears among the tests.
 */
import type { Reporter, SerializedError, TestModule } from "vitest/node";

export class TallyReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly SerializedError[]): void {
    let passed = 0;
    let skipped = 0;
    let failed = unhandledErrors.length;
    for (const module of modules) {
      failed += module.errors().length;
      for (const suite of module.children.allSuites()) failed += suite.errors().length;
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        if (state === "passed") passed += 1;
        else if (state === "skipped") skipped += 1;
        else failed += 1;
      }
    }
    console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`);
  }
}
