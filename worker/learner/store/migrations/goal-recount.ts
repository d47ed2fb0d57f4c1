import { shownAtOf } from "../../../domain/ids/uuid.ts";
import { bucketAt } from "../../../domain/impression/bucket.ts";
import type { Windows } from "../../../domain/model/goals.ts";
import type { ConversionStore } from "../conversion-store.ts";
import type { DelayStore } from "../counts/delay-store.ts";
import type { Database } from "../database.ts";
import type { ImpressionStore } from "../impressions/impression-store.ts";

interface Stores {
  readonly database: Database;
  readonly config: Windows;
  readonly impressions: ImpressionStore;
  readonly conversions: ConversionStore;
  readonly delays: DelayStore;
}

/**
 * Counts by goal what impressions have brought, from the conversions that are stored. Earlier versions counted a goal without a weight, and
 * an order that was refunded in full, as a conversion.
 */
export function countByGoal({ database, config, impressions, conversions, delays }: Stores): void {
  if (!config.goals) return;
  database.transact(() => {
    // Nothing is counted twice: neither goals nor delays, nor the goals that lists have reached.
    const tables = ["delays", "delay_times", "reached"];
    for (const change of ["UPDATE outcomes SET delays = NULL, amounts = NULL", ...tables.map((table) => `DELETE FROM ${table}`)])
      database.query(change);
    const ids = database.query<{ id: string }>("SELECT id FROM outcomes ORDER BY id").map(({ id }) => id);
    for (const [, some] of Map.groupBy(ids, (id) => bucketAt(shownAtOf(id), config.window.ms))) {
      const corrections = some.flatMap((id) => conversions.recounted(id, config.goals) ?? []);
      impressions.outcomes.correct(corrections, config);
    }
    delays.recount(config);
  });
}
