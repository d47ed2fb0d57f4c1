// Fetches what a dashboard shows, again and again while somebody looks. It draws nothing.

import type { Explanation, ModelSummary } from "../../worker/protocol/answers.ts";
import type { Metrics } from "../../worker/protocol/metrics-answer.ts";
import { Refusal, reasonOf } from "../ui/call.ts";
import type { Source } from "./source.ts";

const REFRESH_MS = 2000;

/** The data of a dashboard: one model and one of its impressions. It is refreshed only while the page is visible. */
export class Monitor {
  readonly #source: Source;
  readonly #changed: () => void;
  #reading = false;
  /** Whether the list of models is up to date. */
  #listed = false;
  #stopped = false;
  #model: string | undefined;
  #impression: string | undefined;

  models?: readonly ModelSummary[];
  /** Null if the worker does not know the model. */
  metrics?: Metrics | null;
  /** Null if the worker does not know the impression. */
  explanation?: Explanation | null;
  /** The reason why the data are out of date; empty if they are not. */
  problem = "";
  /** Whether the worker refused the key. */
  refused = false;

  /** @param changed is called whenever the page must be drawn again. */
  constructor(source: Source, changed: () => void) {
    this.#source = source;
    this.#changed = changed;
  }

  /** Reads now, and again every two seconds while the page is visible. Returns a function that stops this. */
  start(): () => void {
    const read = () => void this.#read();
    // A model may have been created meanwhile, in a terminal or an editor.
    const returned = () => {
      this.#listed = false;
      read();
    };
    const timer = setInterval(read, REFRESH_MS);
    document.addEventListener("visibilitychange", read);
    addEventListener("focus", returned);
    read();
    return () => {
      this.#stopped = true;
      clearInterval(timer);
      document.removeEventListener("visibilitychange", read);
      removeEventListener("focus", returned);
    };
  }

  /** Switches to a model, by default the first, and to one of its impressions. */
  show(model: string | undefined, impression: string | undefined): void {
    if (model !== this.#model) this.metrics = undefined;
    if (impression !== this.#impression) this.explanation = undefined;
    this.#model = model;
    this.#impression = impression;
    void this.#read();
  }

  /** The model that is shown or asked for: without a choice, the first one of the list. */
  get name(): string | undefined {
    return this.#model ?? this.models?.[0]?.model;
  }

  async #read(): Promise<void> {
    if (this.#reading || this.#stopped || document.hidden) return;
    this.#reading = true;
    const [model, impression] = [this.#model, this.#impression];
    const stale = () => this.#stopped || model !== this.#model || impression !== this.#impression;
    try {
      const [metrics, explanation] = await Promise.all([this.#readMetrics(model), this.#explain(impression)]);
      if (!stale()) {
        this.metrics = metrics;
        this.explanation = explanation;
        this.problem = "";
      }
    } catch (error) {
      this.refused = error instanceof Refusal && (error.status === 401 || error.status === 403);
      if (!stale()) this.problem = `Not up to date: ${reasonOf(error)}. Retrying every ${REFRESH_MS / 1000} seconds.`;
    }
    this.#reading = false;
    if (this.#stopped) return;
    this.#changed();
    if (stale()) void this.#read();
  }

  async #readMetrics(model: string | undefined): Promise<Metrics | null | undefined> {
    const known = this.models?.some((each) => model === undefined || each.model === model);
    if (!known || !this.#listed) {
      this.models = await this.#source.models();
      this.#listed = true;
    }
    const name = model ?? this.models?.[0]?.model;
    if (name === undefined) return undefined;
    const metrics = await orNull(this.#source.metrics(name));
    // The model was deleted, so the list is out of date too.
    if (metrics === null) this.#listed = false;
    return metrics;
  }

  async #explain(impression: string | undefined): Promise<Explanation | null | undefined> {
    return impression === undefined ? undefined : orNull(this.#source.explain(impression));
  }
}

/** An answer of the worker; null if it answers 404. */
async function orNull<Result>(answer: Promise<Result>): Promise<Result | null> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof Refusal && error.status === 404) return null;
    throw error;
  }
}
