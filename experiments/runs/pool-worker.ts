import type { Curve, Paper, Task } from "./experiment.ts";

/** Runs one task in a thread of the pool. `module` is the URL of a paper's file. */
export default async function run({
  module,
  experiment,
  ...task
}: Task & { module: string; experiment: string }): Promise<readonly Curve[]> {
  const { paper } = (await import(module)) as { paper: Paper };
  const found = paper.experiments.find(({ id }) => id === experiment);
  if (!found) throw new Error(`${paper.id} has no experiment ${experiment}`);
  return found.run(task);
}
