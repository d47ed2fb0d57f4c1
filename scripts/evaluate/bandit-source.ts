import { encoder } from "afterclick";
import { inspectLog, itemFileOf, LogError, readCatalogue, readLog } from "../replay/open-bandit.ts";
import type { Source, SourceOptions } from "./source.ts";

/**
 * An Open Bandit csv: one decision per row, of whatever position, with the propensity and the time of its row. A click comes
 * at once.
 * @throws {LogError} if the file has no propensities or no times.
 */
export async function banditSource(file: string, { progress }: SourceOptions): Promise<Source> {
  const log = await inspectLog(file);
  const catalogue = await readCatalogue(log, itemFileOf(file));
  const ids = log.items;
  const pointsIn = encoder(catalogue.encoder).among(catalogue.actions.map(({ id, features }) => ({ ...features, id })));
  const decisions: Source["decisions"][number][] = [];
  for await (const { index: row, item, clicked, context, shownAt, probability } of readLog(file)) {
    if (shownAt === undefined || probability === undefined) {
      throw new LogError(
        `${file}, row ${row + 1}: expected a timestamp and a propensity_score, without which there is nothing to weigh by`,
      );
    }
    decisions.push({
      ids,
      shownAt,
      count: ids.length,
      // Only while it is looked at: all of them together would not fit into memory.
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
  return { decisions, leftOut: new Map(), dimension: catalogue.encoder.dimension, window: "none", reward: { min: 0, max: 1 }, end };
}
