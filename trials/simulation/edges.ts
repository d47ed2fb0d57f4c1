// The isolates of a simulated worker, any of which may die.

import { type App, createApp } from "../../worker/edge/app.ts";
import type { Environment } from "../../worker/environment.ts";
import { type Faults, Isolate } from "./workerd/isolate.ts";

/** A response whose body has arrived completely. */
export interface Answer {
  readonly status: number;
  readonly type: string;
  readonly text: string;
}

interface Edge {
  readonly isolate: Isolate;
  readonly app: App;
  /** Background work after answers. */
  readonly background: Set<Promise<unknown>>;
  /** Background work of the isolates that ran here before. */
  readonly deaths: number;
}

interface Used {
  readonly app: App;
  /** Names of the models whose data it may hold. */
  readonly models: Set<string>;
}

/** Limit of models per app. An app's data of other simulations' models take memory. */
const MOST_MODELS = 20;
const spare: Used[] = [];

/** Isolates at the edge, each with its own app. A dead isolate is replaced at the next request. */
export class Edges {
  readonly #model: string;
  readonly #faults: Faults;
  readonly #environmentFor: (isolate: Isolate) => Environment;
  readonly #edges = new Map<number, Edge>();
  readonly #apps: Used[] = [];

  /** @param environmentFor returns the bindings, as an isolate's code reaches them. */
  constructor(model: string, faults: Faults, environmentFor: (isolate: Isolate) => Environment) {
    this.#model = model;
    this.#faults = faults;
    this.#environmentFor = environmentFor;
  }

  #edge(place: number): Edge {
    const running = this.#edges.get(place);
    if (running?.isolate.alive) return running;
    const isolate = new Isolate(`edge ${place}`, this.#faults);
    const started = { isolate, app: this.#app(), background: new Set<Promise<unknown>>(), deaths: this.deaths(place) };
    this.#edges.set(place, started);
    return started;
  }

  /** Reuses an app that knows nothing of this model. Making a new app each time would take half of a simulation's time. */
  #app(): App {
    const found = spare.findLastIndex(({ models }) => !models.has(this.#model));
    const [used] = found < 0 ? [{ app: createApp(), models: new Set<string>() }] : spare.splice(found, 1);
    used.models.add(this.#model);
    this.#apps.push(used);
    return used.app;
  }

  /** Sends a request. @throws {Crash} if the isolate dies before it has answered. */
  fetch(place: number, request: Request): Promise<Answer> {
    const { isolate, app, background } = this.#edge(place);
    const waitUntil = (work: Promise<unknown>): void => {
      const done = work.catch(() => {}).finally(() => background.delete(done));
      background.add(done);
    };
    const context = { waitUntil, passThroughOnException: () => {} };
    return isolate.run(async () => {
      const response = await app.fetch(request, this.#environmentFor(isolate), context as unknown as ExecutionContext);
      // The isolate can still die while the body streams.
      const text = new TextDecoder().decode(await response.arrayBuffer());
      isolate.effect("answer");
      return { status: response.status, type: response.headers.get("content-type") ?? "", text };
    });
  }

  /** Number of isolates that have died at an index. */
  deaths(place: number): number {
    const edge = this.#edges.get(place);
    return edge ? edge.deaths + (edge.isolate.alive ? 0 : 1) : 0;
  }

  /** Indices of the running isolates. */
  get places(): readonly number[] {
    return Array.from(this.#edges).flatMap(([place, { isolate }]) => (isolate.alive ? place : []));
  }

  /** Whether background work is pending. */
  get busy(): boolean {
    return Array.from(this.#edges.values()).some(({ isolate, background }) => isolate.alive && background.size > 0);
  }

  kill(place: number): void {
    this.#edges.get(place)?.isolate.kill();
  }

  close(): void {
    for (const { isolate } of this.#edges.values()) isolate.kill();
    spare.push(...this.#apps.filter(({ models }) => models.size < MOST_MODELS));
  }
}
