import { encoder } from "afterclick";
import { inspectLog, itemFileOf, LogError, readCatalogue, readLog } from "../replay/open-bandit.ts";
import type { Source, SourceDecision, SourceOptions } from "./source.ts";

/**
 * Reads an Open Bandit csv. Each row is one decision, whatever its position, with its propensity and time. A click converts
 * immediately.
 * @throws {LogError} if the file has no propensities or no times.
 */
export async function banditSource(file: string, { progress }: SourceOptions): Promise<Source> {
  const log = await inspectLog(file);
  const catalogue = await readCatalogue(log, itemFileOf(file));
  const ids = log.items;
  const pointsIn = encoder(catalogue.encoder).among(catalogue.actions.map(({ id, features }) => ({ ...features, id })));
  const decisions: SourceDecision[] = [];
  const numbers = new Set<string>();
  let repeated = 0;
  for await (const { index: row, item, clicked, context, shownAt, probability, number } of readLog(file)) {
    if (number !== undefined && numbers.has(number)) {
      repeated++;
      continue;
    }
    if (number !== undefined) numbers.add(number);
    if (shownAt === undefined || probability === undefined) {
      throw new LogError(`${file}, row ${row + 1}: expected a timestamp and a propensity_score, got none; use a log that has both`);
    }
    decisions.push({
      ids,
      shownAt,
      count: ids.length,
      // Computed on access, because the matrices of all decisions would not fit into memory.
      get points() {
        return pointsIn(context);
      },
      index: ids.indexOf(item),
      probability,
      conversions: clicked ? [{ at: shownAt, reward: 1 }] : [],
    });
    progress(decisions.length, log.rows);
  }
  const end = decisions.reduce((latest, { shownAt }) => Math.max(latest, shownAt), 0);
  return {
    decisions,
    leftOut: new Map(),
    repeated,
    dimension: catalogue.encoder.dimension,
    window: "none",
    reward: { min: 0, max: 1 },
    end,
    // A click is in the row of its impression, so none is still to come.
    maturity: () => 1,
  };
}
