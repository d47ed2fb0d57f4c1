import type { Features } from "../../protocol/schema.ts";
import type { ClosedCount } from "../../rpc/message.ts";
import type { ImpressionStore } from "../store/impressions/impression-store.ts";

const NONE: ClosedCount = { impressions: 0, converted: 0 };

/**
 * The evidence of a recommender that waits: impressions whose window has closed, by context and action. Each impression is read once.
 * An impression that is registered after its window has closed is not counted.
 */
export class ClosedWindows {
  readonly #impressions: ImpressionStore;
  readonly #windowMs: number;
  /** Impressions shown before this time are counted. */
  #until = 0;
  readonly #counts = new Map<string, ClosedCount>();

  constructor(impressions: ImpressionStore, windowMs: number) {
    this.#impressions = impressions;
    this.#windowMs = windowMs;
  }

  /** Counts of an action in exactly this context. **Cost:** linear in the impressions whose windows have closed since the last call. */
  count(context: Features | undefined, action: string, now: number): ClosedCount {
    this.#advance(now - this.#windowMs);
    return this.#counts.get(keyOf(context ?? null, action)) ?? NONE;
  }

  #advance(until: number): void {
    if (until <= this.#until) return;
    for (const { context, action, converted } of this.#impressions.liveBetween(this.#until, until)) {
      const key = keyOf(context, action);
      const before = this.#counts.get(key) ?? NONE;
      this.#counts.set(key, { impressions: before.impressions + 1, converted: before.converted + Number(converted) });
    }
    this.#until = until;
  }
}

function keyOf(context: Features | null, action: string): string {
  return JSON.stringify([context, action]);
}
