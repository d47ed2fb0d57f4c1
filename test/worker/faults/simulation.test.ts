import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, expect, it, vi } from "vitest";
import { Edges } from "../../../trials/simulation/edges.ts";
import { bindings } from "../../../trials/simulation/scene.ts";
import { type Setting, Simulation } from "../../../trials/simulation/simulation.ts";
import { Crash, Isolate, Outage } from "../../../trials/simulation/workerd/isolate.ts";
import { Kv } from "../../../trials/simulation/workerd/kv.ts";
import { stubFor } from "../../../trials/simulation/workerd/remote.ts";
import type { Weather, World } from "../../../trials/simulation/world.ts";
import worker from "../../../worker/index.ts";
import type { Learner } from "../../../worker/learner/learner.ts";

// The schedules of trials/simulation, with the real Durable Object. Nothing waits on the network, so nothing overlaps.

const SCHEDULES = 40;

const sqlPrototype: SqlStorage = await runInDurableObject(learnerOf("any"), (_, { storage }) => Object.getPrototypeOf(storage.sql));
const { exec } = sqlPrototype;
const wait = scheduler.wait.bind(scheduler);

function learnerOf(model: string): DurableObjectStub<Learner> {
  return env.LEARNER.get(env.LEARNER.idFromName(model));
}

/** The worker in workerd. Its bindings reach simulated services, whose clock is the simulation's. */
class WorkerdWorld implements World {
  readonly edges: Edges;
  readonly #setting: Setting;
  readonly #kv: Kv;
  readonly #complaints: string[] = [];
  /** Represents the object's isolate. Code in it dies with its call. */
  #object: Isolate;
  #killed = false;
  #faultless = false;

  constructor(setting: Setting) {
    this.#setting = setting;
    const { model, clock, weather } = setting;
    vi.spyOn(weather, "pause").mockResolvedValue();
    this.#kv = new Kv(() => clock.time, weather);
    this.#object = new Isolate("learner", weather);
    this.edges = new Edges(model, weather, (isolate) => {
      const namespace = {
        idFromName: (name: string) => name,
        get: () =>
          stubFor(
            isolate,
            weather,
            () => {},
            (method, args) => this.#deliver(method, args),
          ),
      };
      const events = isolate.reach("kv", this.#kv) as unknown as KVNamespace;
      return { ...bindings, LEARNER: namespace as unknown as typeof env.LEARNER, EVENTS: events };
    });
    this.#replace(weather);
  }

  /** The object's access to its disk, KV and clock. */
  #replace(weather: Weather): void {
    const world = this;
    sqlPrototype.exec = function (this: SqlStorage, ...statement: Parameters<typeof exec>) {
      const blow = world.#faultless ? undefined : weather.strikes(world.#object, "sql");
      if (blow === "death") world.#killed = true;
      if (blow) throw new (blow === "death" ? Crash : Outage)("sql");
      return exec.apply(this, statement);
    } as typeof exec;
    const prototype = Object.getPrototypeOf(env.EVENTS);
    for (const method of ["put", "get", "getWithMetadata", "list", "delete"] as const) {
      vi.spyOn(prototype, method).mockImplementation((...args: unknown[]) =>
        (this.#kv[method] as (...args: unknown[]) => unknown)(...args),
      );
    }
    vi.spyOn(scheduler, "wait").mockResolvedValue();
    vi.useFakeTimers({ toFake: ["Date"] });
    vi.spyOn(console, "error").mockImplementation((what: unknown, name?: unknown) => {
      if (!["Error", "Outage", "Crash"].includes(String(name))) this.#complaints.push(`${what} ${name}`);
    });
  }

  /** The object dies after a failed statement. */
  async #deliver(method: string, args: unknown[]): Promise<unknown> {
    this.#setTime();
    const stub = learnerOf(this.#setting.model) as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>;
    try {
      return await stub[method](...args);
    } catch (error) {
      throw this.#killed ? new Crash("learner") : error;
    } finally {
      await this.#bury();
    }
  }

  /** Unflushed writes of the object are lost. */
  async #bury(): Promise<void> {
    if (!this.#killed) return;
    this.#killed = false;
    await runInDurableObject(learnerOf(this.#setting.model), (_, state) => state.abort("crash")).catch(() => {});
  }

  #setTime(): void {
    vi.setSystemTime(this.#setting.clock.now());
  }

  async killLearner(): Promise<void> {
    // The object may not be running.
    await evictDurableObject(learnerOf(this.#setting.model)).catch(() => {});
  }

  /** Reaches past the object's methods. The object may start for it, without a fault: no caller could answer one. */
  async #reach<T>(use: (storage: DurableObjectStorage) => Promise<T>): Promise<T> {
    this.#faultless = true;
    try {
      return await runInDurableObject(learnerOf(this.#setting.model), (_, { storage }) => use(storage));
    } finally {
      this.#faultless = false;
    }
  }

  alarm(): Promise<number | null> {
    return this.#reach((storage) => storage.getAlarm());
  }

  loseAlarm(): Promise<void> {
    return this.#reach((storage) => storage.deleteAlarm());
  }

  async ring(): Promise<boolean> {
    this.#setTime();
    const rang = await runDurableObjectAlarm(learnerOf(this.#setting.model));
    await this.#bury();
    return rang;
  }

  async cron(): Promise<void> {
    await worker.scheduled({} as ScheduledController, env).catch(() => {});
  }

  async settle(): Promise<void> {
    this.#setTime();
    await wait(0);
  }

  complaints(): readonly string[] {
    return this.#complaints;
  }

  close(): void {
    this.edges.close();
  }
}

afterEach(() => {
  sqlPrototype.exec = exec;
  vi.restoreAllMocks();
  vi.useRealTimers();
});

it("keeps every law in workerd, under forty of the same schedules", async () => {
  const failures: string[] = [];
  for (let seed = 1; seed <= SCHEDULES; seed++) {
    await new Simulation(seed, {}, (setting) => new WorkerdWorld(setting)).run().catch((error: Error) => failures.push(error.message));
  }
  expect(failures).toEqual([]);
});
