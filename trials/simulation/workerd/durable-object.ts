// Durable Objects in this process, which can be killed at any effect. The rest of `workerd/` is what they run on.

import { Disk, durableStorage } from "./durable-storage.ts";
import { Crash, type Faults, Isolate, Outage } from "./isolate.ts";
import { remoteError, stubFor } from "./remote.ts";

interface Running<T> {
  readonly object: T;
  readonly isolate: Isolate;
  /** Resolves when the constructor no longer blocks calls. */
  readonly ready: Promise<unknown>;
}

type Method = (...args: unknown[]) => Promise<unknown>;

/**
 * Durable Objects of one class, in this process. Calls copy their arguments, wait until earlier writes are committed, and
 * can be lost in either direction. An object can be killed at any effect, and restarts from its disk.
 */
export class DurableObjects<T extends object> {
  /** Unexpected exceptions of methods, which no fault caused. */
  readonly unexpected: unknown[] = [];
  readonly #create: (state: DurableObjectState, isolate: Isolate, disk: Disk) => T;
  readonly #faults: Faults;
  readonly #disks = new Map<string, Disk>();
  readonly #running = new Map<string, Running<T>>();

  constructor(create: (state: DurableObjectState, isolate: Isolate, disk: Disk) => T, faults: Faults) {
    this.#create = create;
    this.#faults = faults;
  }

  /** The binding for code in an isolate. @param before runs before each call, such as the commit that an outgoing message waits for. */
  bindingFor(caller: Isolate, before: () => void = () => {}): DurableObjectNamespace<never> {
    const namespace = {
      idFromName: (name: string) => idOf(name),
      get: ({ name }: { readonly name: string }) => {
        return stubFor(caller, this.#faults, before, (method, args) => this.#enter(name, method, args));
      },
    };
    return namespace as unknown as DurableObjectNamespace<never>;
  }

  /** The object's disk, created at first use. */
  disk(name: string): Disk {
    let disk = this.#disks.get(name);
    if (!disk) {
      disk = new Disk();
      this.#disks.set(name, disk);
    }
    return disk;
  }

  kill(name: string): void {
    this.#running.get(name)?.isolate.kill();
  }

  /** Runs the object's alarm. Returns whether one was set. If the object dies meanwhile, the alarm stays set. */
  async ring(name: string): Promise<boolean> {
    const disk = this.disk(name);
    const rung = disk.alarm;
    if (rung === null) return false;
    try {
      await this.#enter(name, "alarm", [], () => {
        disk.begin();
        disk.alarm = null;
      });
    } catch {
      disk.alarm ??= rung;
    }
    return true;
  }

  close(): void {
    for (const { isolate } of this.#running.values()) isolate.kill();
    for (const disk of this.#disks.values()) disk.close();
  }

  /** Runs a method in the object, and starts the object if necessary. The answer leaves when the writes are committed. */
  async #enter(name: string, method: string, args: unknown[], first = () => {}): Promise<unknown> {
    const { object, isolate, ready } = this.#start(name);
    return isolate.run(async () => {
      await ready;
      first();
      try {
        return structuredClone(await (object as Record<string, Method>)[method](...args));
      } catch (error) {
        if (error instanceof Crash) throw error;
        // An error of another object is noted there.
        if (!(error instanceof Outage) && !(error as { remote?: boolean }).remote) this.unexpected.push(error);
        throw remoteError((error as Error).message);
      } finally {
        isolate.effect(`answer ${method}`);
        this.disk(name).commit();
        isolate.effect(`after ${method}`);
      }
    });
  }

  #start(name: string): Running<T> {
    const running = this.#running.get(name);
    if (running?.isolate.alive) return running;
    const disk = this.disk(name);
    const isolate = new Isolate(name, this.#faults, () => disk.rollback());
    let ready: Promise<unknown> = Promise.resolve();
    const state = {
      id: idOf(name),
      storage: durableStorage(disk, isolate, () => this.#faults.pause()),
      blockConcurrencyWhile: <R>(work: () => Promise<R>): Promise<R> => {
        const done = ready.then(work);
        // An object whose start fails is broken.
        done.catch(() => isolate.kill());
        ready = done;
        return done;
      },
      waitUntil: (work: Promise<unknown>) => void work.catch(() => {}),
      abort: () => {
        isolate.kill();
        throw new Crash("abort");
      },
    };
    const object = this.#create(state as unknown as DurableObjectState, isolate, disk);
    const started = { object, isolate, ready };
    this.#running.set(name, started);
    return started;
  }
}

function idOf(name: string): DurableObjectId {
  return { name, toString: () => name, equals: (other: DurableObjectId) => other.name === name };
}
