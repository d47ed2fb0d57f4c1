import type { LoggedDecision, NamedFeatures } from "afterclick";
import { inspectLog, LogError, readCatalogue, readLog } from "../../cli/replay/open-bandit.ts";
import type { Product } from "../shop/shop.ts";

/** Places of a page. */
export const POSITIONS = [1, 2, 3] as const;

/** One item at one position of a page, and whether it was clicked. */
export interface Shown extends LoggedDecision {
  readonly id: string;
  readonly position: number;
  readonly context: NamedFeatures;
  readonly clicked: boolean;
}

/** A log of the Open Bandit Dataset. */
export interface BanditLog {
  /** In order of time. Their candidates are the products. */
  readonly shown: readonly Shown[];
  readonly products: readonly Product[];
  /** Range of each numeric feature of products. */
  readonly numeric: Readonly<Record<string, { readonly min: number; readonly max: number }>>;
}

/**
 * Reads a log, and the file of its items. A click counts at the time of its row, because the data set has no other.
 * @throws {LogError} naming the file, and the first row without a position, a propensity or a time.
 */
export async function readBanditLog(file: string, itemFile: string): Promise<BanditLog> {
  const log = await inspectLog(file);
  const { actions, encoder } = await readCatalogue(log, itemFile);
  const shown: Shown[] = [];
  for await (const { index: row, item, clicked, context, shownAt, probability, position } of readLog(file)) {
    const fail = (expected: string): never => {
      throw new LogError(`${file}, row ${row + 1}: expected ${expected}`);
    };
    const place = Number(position);
    if (!POSITIONS.some((each) => each === place)) fail(`position to be one of ${POSITIONS.join(", ")}, got ${position ?? "none"}`);
    if (probability === undefined) fail("a propensity_score, got none");
    if (shownAt === undefined) fail("a timestamp, got none");
    shown.push({
      id: `row ${row + 1}`,
      position: place,
      context,
      clicked,
      shownAt: shownAt as number,
      count: log.items.length,
      ids: log.items,
      index: log.items.indexOf(item),
      probability: probability as number,
      conversions: clicked ? [{ at: shownAt as number, reward: 1 }] : [],
    });
  }
  return { shown: shown.sort((a, b) => a.shownAt - b.shownAt), products: actions, numeric: encoder.numeric ?? {} };
}
