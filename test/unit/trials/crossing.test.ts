import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";

/** Most that a request may cross, with room for a new figure. A change that shortens the way lowers its ceiling. */
const CEILINGS = {
  recommendation: { calls: 328, files: 25, foldersChanged: 89, reads: 0, statements: 0 },
  registration: { calls: 440, files: 54, foldersChanged: 176, reads: 55, statements: 8 },
  conversion: { calls: 520, files: 67, foldersChanged: 226, reads: 49, statements: 12 },
};

const LINE = /^(\w+): (\d+) calls in (\d+) files of the worker .* (\d+) changes of folder, (\d+) reads of state, (\d+) statements/gm;

it("a recommendation, its registration and a conversion cross no more code, state and SQL than they did", async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ["trials/crossing.ts"]);
  const rows = Array.from(stdout.matchAll(LINE), ([, name, ...figures]) => {
    const [calls, files, foldersChanged, reads, statements] = figures.map(Number);
    return [name, { calls, files, foldersChanged, reads, statements }] as const;
  });
  expect(rows.map(([name]) => name)).toEqual(Object.keys(CEILINGS));
  const over = rows.flatMap(([name, figures]) => {
    const most: Readonly<Record<string, number>> = CEILINGS[name as keyof typeof CEILINGS];
    return Object.entries(figures).flatMap(([figure, count]) =>
      count > most[figure] ? [`${name}: ${count} ${figure}, ${most[figure]} allowed`] : [],
    );
  });
  expect(over).toEqual([]);
});
