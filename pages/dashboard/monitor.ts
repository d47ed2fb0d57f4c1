import type { Explanation, Metrics, ModelSummary } from "../../worker/protocol/answers.ts";
import { Refusal, reasonOf } from "../ui/call.ts";
import type { Source } from "./source.ts";

const REFRESH_MS = 2000;

/** The data of a dashboard: one model and one of its impressions. It is refreshed only while the page is visible. */
export class Monitor {
  readonly #source: Source;
  readonly #changed: () => void;
  #reading = false;
  #stopped = false;
  #model: string | undefined;
  #impression: string | undefined;

  /** Undefined if the source has only one model. */
  models?: readonly ModelSummary[];
  metrics?: Metrics;
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
    const timer = setInterval(read, REFRESH_MS);
    document.addEventListener("visibilitychange", read);
    read();
    return () => {
      this.#stopped = true;
      clearInterval(timer);
      document.removeEventListener("visibilitychange", read);
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

  async #readMetrics(model: string | undefined): Promise<Metrics | undefined> {
    const { models } = this.#source;
    const known = this.models?.some((each) => model === undefined || each.model === model);
    if (models && !known) this.models = await models();
    const name = model ?? this.models?.[0]?.model;
    return name === undefined ? undefined : this.#source.metrics(name);
  }

  async #explain(impression: string | undefined): Promise<Explanation | null | undefined> {
    if (impression === undefined) return undefined;
    try {
      return await this.#source.explain(impression);
    } catch (error) {
      if (error instanceof Refusal && error.status === 404) return null;
      throw error;
    }
  }
}
