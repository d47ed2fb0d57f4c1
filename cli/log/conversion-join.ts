import type { ConversionLine } from "../../worker/domain/log/log-line.ts";
import type { AwaitedConversions } from "./awaited.ts";

interface Open<Shown, Line> {
  shown?: Shown | null;
  readonly conversions: Line[];
}

/**
 * Brings the impressions of a reading together with their conversions, in any order. Only impressions whose conversions are still to come
 * are in memory.
 */
export class ConversionJoin<Shown, Line extends ConversionLine = ConversionLine> {
  readonly #open = new Map<string, Open<Shown, Line>>();
  readonly #awaited: AwaitedConversions;
  readonly #join: (shown: Shown, conversions: readonly Line[]) => void;

  /** @param join called once for each impression that has conversions, with all of them. */
  constructor(awaited: AwaitedConversions, join: (shown: Shown, conversions: readonly Line[]) => void) {
    this.#awaited = awaited;
    this.#join = join;
  }

  /** @param shown null for an impression whose conversions do not matter, unless another line of it does. */
  show(id: string, shown: Shown | null): void {
    const open = this.#open.get(id);
    if (open ? shown === null && open.shown : !this.#awaited.has(id)) return;
    this.#open.set(id, { shown, conversions: open?.conversions ?? [] });
    this.#close(id);
  }

  convert(line: Line): void {
    const open = this.#open.get(line.impression) ?? { conversions: [] };
    this.#open.set(line.impression, open);
    open.conversions.push(line);
    this.#close(line.impression);
  }

  #close(id: string): void {
    const open = this.#open.get(id);
    if (open?.shown === undefined || this.#awaited.has(id)) return;
    this.#open.delete(id);
    if (open.shown !== null) this.#join(open.shown, open.conversions);
  }

  /** Joins what is left: impressions whose last conversion stood in another line. */
  end(): void {
    for (const { shown, conversions } of this.#open.values()) if (shown !== undefined && shown !== null) this.#join(shown, conversions);
    this.#open.clear();
  }
}
