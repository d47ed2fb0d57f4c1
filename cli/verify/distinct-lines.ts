import { type EventLine, type HeadLine, LogMismatch, nameOf } from "./event-line.ts";

/** The lines of one model's log, each event once, also if the file has several exports of it. */
export class DistinctLines {
  /** Number of lines that stood in the log before. */
  repeated = 0;
  readonly #log: AsyncIterable<HeadLine | EventLine>;
  readonly #seen = new Map<number, Map<number, string>>();
  /** The ids of live impressions. */
  readonly #ids = new Set<string>();
  #head?: HeadLine;

  constructor(log: AsyncIterable<HeadLine | EventLine>) {
    this.#log = log;
  }

  /** @throws {LogMismatch} at the head of another model or generation, at two lines of one number, and at two of one impression. */
  async *[Symbol.asyncIterator](): AsyncGenerator<HeadLine | EventLine> {
    for await (const line of this.#log) {
      if (line.type === "model") {
        this.#checkSame(line);
        yield line;
      } else if (this.#isNew(line)) {
        if (line.type === "impression" && line.state === "live") this.#checkId(line);
        yield line;
      } else this.repeated++;
    }
  }

  #checkSame(head: HeadLine): void {
    const { model, generation } = head;
    const before = this.#head ?? head;
    this.#head = before;
    if (before.model === model && before.generation === generation) return;
    const [expected, got] =
      before.model === model
        ? [`generation ${before.generation}`, `generation ${generation}, which is later or earlier than a reset`]
        : [`model ${before.model}`, `model ${model}`];
    throw new LogMismatch(`${nameOf(head)}: expected the log of one model, ${expected}, got lines of ${got} too: use each log by itself`);
  }

  /** Each shard numbers its lines by itself. */
  #isNew(line: EventLine): boolean {
    const { shard = 0, seq } = line;
    const seen = this.#seen.get(shard) ?? new Map<number, string>();
    this.#seen.set(shard, seen);
    const name = identityOf(line);
    const before = seen.get(seq);
    if (before === undefined) seen.set(seq, name);
    else if (before !== name)
      throw new LogMismatch(
        `${nameOf(line)}: expected one line of event ${seq}, got two that differ, of ${before} and ${name}: export the log again`,
      );
    return before === undefined;
  }

  #checkId(line: Extract<EventLine, { type: "impression" }>): void {
    if (this.#ids.has(line.id))
      throw new LogMismatch(`${nameOf(line)}: expected each impression once, got its id under two numbers; export the log again`);
    this.#ids.add(line.id);
  }
}

function identityOf(line: EventLine): string {
  if (line.type === "mark") return line.mark;
  return line.type === "conversion" ? line.impression : line.id;
}
