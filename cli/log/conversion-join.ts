import type { ConversionLine } from "../../worker/domain/log/log-line.ts";
import type { AwaitedConversions } from "./awaited.ts";

interface Open<Shown> {
  shown?: Shown;
  readonly conversions: ConversionLine[];
}

/**
 * Brings the impressions of a reading together with their conversions, in any order. Only impressions whose conversions are still to come
 * are in memory.
 */
export class ConversionJoin<Shown> {
  readonly #open = new Map<string, Open<Shown>>();
  readonly #awaited: AwaitedConversions;
  readonly #join: (shown: Shown, conversions: readonly ConversionLine[]) => void;

  /** @param join called once for each impression that has conversions, with all of them. */
  constructor(awaited: AwaitedConversions, join: (shown: Shown, conversions: readonly ConversionLine[]) => void) {
    this.#awaited = awaited;
    this.#join = join;
  }

  show(id: string, shown: Shown): void {
    const open = this.#open.get(id);
    if (!open && !this.#awaited.has(id)) return;
    this.#open.set(id, { shown, conversions: open?.conversions ?? [] });
    this.#close(id);
  }

  convert(line: ConversionLine): void {
    const open = this.#open.get(line.impression) ?? { conversions: [] };
    this.#open.set(line.impression, open);
    open.conversions.push(line);
    this.#close(line.impression);
  }

  #close(id: string): void {
    const open = this.#open.get(id);
    if (open?.shown === undefined || this.#awaited.has(id)) return;
    this.#open.delete(id);
    this.#join(open.shown, open.conversions);
  }

  /** Joins what is left: impressions whose last conversion stood in another line. */
  end(): void {
    for (const { shown, conversions } of this.#open.values()) if (shown !== undefined) this.#join(shown, conversions);
    this.#open.clear();
  }
}
