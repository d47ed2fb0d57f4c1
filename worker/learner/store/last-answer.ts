import type { Database } from "./database.ts";

/** Remembers the answer to the last question to a table, until that table changes. Requests in a row ask for the same bucket or block. */
export class LastAnswer<Question extends string | number, Answer> {
  #known?: { readonly question: Question; readonly answer: Answer };

  constructor(database: Pick<Database, "onDrop">) {
    database.onDrop(() => this.forget());
  }

  /** @param read answers a new question. Undefined is not remembered: a row may come. */
  to(question: Question, read: () => Answer): Answer {
    if (this.#known?.question === question) return this.#known.answer;
    const answer = read();
    this.#known = answer === undefined ? undefined : { question, answer };
    return answer;
  }

  /** The table has changed. */
  forget(): void {
    this.#known = undefined;
  }
}
