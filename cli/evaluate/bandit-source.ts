import { hash } from "node:crypto";
import { encoder } from "afterclick";
import { inspectLog, itemFileOf, LogError, readCatalogue, readLog } from "../replay/open-bandit.ts";
import type { Source, SourceDecision, SourceOptions } from "./source.ts";

/**
 * Reads an Open Bandit csv. Each row is one decision, whatever its position, with its propensity and time. A click converts
 * immediately. A repeated row counts once.
 * @throws {LogError} if the file has no propensities or no times, or two rows of one number that differ.
 */
export async function banditSource(file: string, { progress }: SourceOptions): Promise<Source> {
  const log = await inspectLog(file);
  const catalogue = await readCatalogue(log, itemFileOf(file));
  const ids = log.items;
  const places = new Map(ids.map((id, i) => [id, i]));
  const indexOf = (action: string): number | undefined => places.get(action);
  const pointsIn = encoder(catalogue.encoder).among(catalogue.actions.map(({ id, features }) => ({ ...features, id })));
  const decisions: SourceDecision[] = [];
  /** Digests of rows, by their number. */
  const numbered = new Map<string, number>();
  let repeated = 0;
  for await (const { index: row, number, ...logged } of readLog(file)) {
    const { item, clicked, context, shownAt, probability } = logged;
    if (number) {
      const [digest, before] = [digestOf(logged), numbered.get(number)];
      if (before !== undefined && before !== digest) {
        throw new LogError(
          `${file}, row ${row + 1}: expected one row of number ${number}, got two that differ; number the rows anew, or remove the first column`,
        );
      }
      if (before !== undefined) {
        repeated++;
        continue;
      }
      numbered.set(number, digest);
    }
    if (shownAt === undefined || probability === undefined) {
      throw new LogError(`${file}, row ${row + 1}: expected a timestamp and a propensity_score, got none; use a log that has both`);
    }
    const text = JSON.stringify(context);
    decisions.push({
      ids,
      indexOf,
      shownAt,
      count: ids.length,
      // Computed on access, because the matrices of all decisions would not fit into memory.
      get points() {
        return pointsIn(JSON.parse(text));
      },
      id: item,
      index: indexOf(item) as number,
      probability,
      conversions: clicked ? [{ at: shownAt, reward: 1 }] : NONE,
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
    completeUntil: end,
    // A click is in the row of its impression, so none is still to come.
    maturity: () => 1,
  };
}

const NONE: SourceDecision["conversions"] = [];

/** 48 bits. Two different rows of one number hardly ever share them. */
const digestOf = (row: object): number => hash("sha256", JSON.stringify(row), "buffer").readUIntBE(0, 6);
