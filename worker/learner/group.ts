// Gathers the calls of one turn of the event loop. What one call alone would write, a group writes in one transaction.

import { Problem } from "../protocol/problem.ts";

/** Most calls of one group. Whatever a group has to do again after a failure is bounded by it. */
const MOST_CALLS = 128;

/** The answers of a group whose changes are made. */
export interface Done<Answer> {
  /** An answer or a problem of each request, in their order. */
  readonly answers: readonly (Answer | Problem)[];
  /** Runs after the changes, such as setting the alarm. If it fails, all calls fail, and no change is made again. */
  readonly followUp: () => Promise<void>;
}

/** Makes the changes of some requests. If it throws, it has made none. */
type Run<Request, Answer> = (requests: readonly Request[]) => Promise<Done<Answer>>;

interface Call<Request, Answer> {
  readonly request: Request;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Runs calls together that arrive together. Calls that come one after the other run at once. If a whole group fails, nothing of it has
 * changed: each of its calls then runs alone, so that only the one that cannot be done fails.
 */
export class Group<Request, Answer> {
  readonly #run: Run<Request, Answer>;
  readonly #written: () => Promise<void>;
  #waiting: Call<Request, Answer>[] = [];
  /** Whether the next call waits for others: while groups have more than one call. */
  #gathers = false;
  /** Groups that run, or whose changes are not on the disk yet. */
  #unwritten = 0;

  /** @param written resolves when all changes so far are on the disk. */
  constructor(written: () => Promise<void>, run: Run<Request, Answer>) {
    this.#written = written;
    this.#run = run;
  }

  /** @param alone runs the call by itself. */
  take(request: Request, { alone = false } = {}): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    if (alone) {
      void this.#runTogether([{ request, resolve, reject }]);
      return promise;
    }
    this.#waiting.push({ request, resolve, reject });
    if (this.#waiting.length > 1) return promise;
    this.#gathers ||= this.#unwritten > 0;
    // Calls that have arrived already are delivered before a timer rings.
    if (this.#gathers) void scheduler.wait(0).then(() => this.#runWaiting());
    else void this.#runWaiting();
    return promise;
  }

  async #runWaiting(): Promise<void> {
    const calls = this.#waiting;
    this.#waiting = [];
    this.#gathers = calls.length > 1;
    this.#unwritten++;
    for (let from = 0; from < calls.length; from += MOST_CALLS) await this.#runTogether(calls.slice(from, from + MOST_CALLS));
    await this.#written().catch(() => {});
    this.#unwritten--;
  }

  async #runTogether(calls: readonly Call<Request, Answer>[]): Promise<void> {
    let done: Done<Answer>;
    try {
      done = await this.#run(calls.map(({ request }) => request));
    } catch (error) {
      if (calls.length === 1) calls[0].reject(error);
      else for (const call of calls) await this.#runTogether([call]);
      return;
    }
    const failure = await done.followUp().then(
      () => undefined,
      (error) => ({ error }),
    );
    for (const [place, { resolve, reject }] of calls.entries()) {
      const answer = done.answers[place];
      if (answer instanceof Problem) reject(answer);
      else if (failure) reject(failure.error);
      else resolve(answer);
    }
  }
}

/** The answer of each request, or the problem with which it was refused. Other errors are the whole group's. */
export function each<Request, Answer>(requests: readonly Request[], answer: (request: Request) => Answer): (Answer | Problem)[] {
  return requests.map((request) => {
    try {
      return answer(request);
    } catch (error) {
      if (error instanceof Problem) return error;
      throw error;
    }
  });
}
