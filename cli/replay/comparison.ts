import type { LoggedRow } from "./open-bandit.ts";

const percent = new Intl.NumberFormat("en", { style: "percent", minimumFractionDigits: 1, maximumFractionDigits: 2 });
const whole = new Intl.NumberFormat("en");
const TOP = 5;

/** Compares the model's choices with the logged items. */
export class Comparison {
  /** Rows compared. */
  rows = 0;
  readonly #chosen = new Map<string, number>();
  #clicks = 0;
  #agreed = 0;
  #agreedClicks = 0;

  count(row: LoggedRow, chosen: string): void {
    const click = Number(row.clicked);
    this.rows++;
    this.#clicks += click;
    this.#chosen.set(chosen, (this.#chosen.get(chosen) ?? 0) + 1);
    if (chosen !== row.item) return;
    this.#agreed++;
    this.#agreedClicks += click;
  }

  /** The result as lines of text. */
  report(items: number): string[] {
    const share = (part: number, of: number) => (of === 0 ? "none" : percent.format(part / of));
    const top = [...this.#chosen].sort((a, b) => b[1] - a[1]).slice(0, TOP);
    return [
      `chosen as logged  ${whole.format(this.#agreed)} of ${whole.format(this.rows)} rows, ${share(this.#agreed, this.rows)} (by chance ${share(1, items)})`,
      `chosen most       ${top.map(([item, count]) => `item ${item} ${share(count, this.rows)}`).join(", ")}`,
      `clicks logged     ${share(this.#clicks, this.rows)} of all rows; ${this.#agreedClicks} of ${this.#agreed}, ${share(this.#agreedClicks, this.#agreed)}, where the choice agreed`,
      "                  (This estimates the model's click rate only if the log was drawn uniformly at random. Most conversions",
      "                  here are simulated and do not depend on the item, so the model can learn little.)",
    ];
  }
}
