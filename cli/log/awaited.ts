import { Column } from "./column.ts";
import { IdTable } from "./id-table.ts";

/** The conversions of a log that are still to come in a reading, by their impression. An earlier reading has counted them. */
export class AwaitedConversions {
  readonly #ids = new IdTable();
  readonly #left = new Column(Uint32Array);

  /** Counts the line of a conversion, in the earlier reading. */
  count(impression: string): void {
    const number = this.#ids.add(impression);
    this.#left.set(number, this.#left.get(number) + 1);
  }

  /** Passes the line of a conversion. */
  pass(impression: string): void {
    const number = this.#ids.find(impression);
    if (number !== undefined) this.#left.set(number, this.#left.get(number) - 1);
  }

  /** Whether a line is to come. */
  has(impression: string): boolean {
    const number = this.#ids.find(impression);
    return number !== undefined && this.#left.get(number) > 0;
  }
}
