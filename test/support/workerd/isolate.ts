/** Thrown inside an isolate at the effect at which it dies, and at everything that its code still tries after that. */
export class Crash extends Error {
  override readonly name = "Crash";
}

/** Thrown where a simulated service fails. */
export class Outage extends Error {
  override readonly name = "Outage";
}

export type CallFault = "lost" | "reply lost" | "overloaded";
export type KvFault = "refused" | "done but failed" | "stale";

export type Blow = "death" | "error";

/** Decides where isolates die, and what goes wrong between them. */
export interface Faults {
  /** What strikes an isolate at an effect, such as `sql INSERT` or `after kv.put`: it dies, or a statement fails. */
  strikes(isolate: Isolate, effect: string): Blow | undefined;
  /** What becomes of a call to a Durable Object. */
  call(method: string): CallFault | undefined;
  kv(operation: string): KvFault | undefined;
  /** A whole number below `limit`, for what a fault leaves open. */
  below(limit: number): number;
  /** Something on the network takes its time: others go on meanwhile. */
  pause(): Promise<void>;
}

/** One of its own for each who waits: a shared one would keep them all. */
const never = (): Promise<never> => new Promise(() => {});

/** What runs code and may die at any effect. Its code then goes on at most to its next effect, and nothing comes of it. */
export class Isolate {
  readonly name: string;
  readonly #faults: Faults;
  readonly #death = Promise.withResolvers<never>();
  readonly #onDeath: () => void;
  #alive = true;

  /** @param onDeath called once, at the moment of death. */
  constructor(name: string, faults: Faults, onDeath: () => void = () => {}) {
    this.name = name;
    this.#faults = faults;
    this.#onDeath = onDeath;
    this.#death.promise.catch(() => {});
  }

  get alive(): boolean {
    return this.#alive;
  }

  kill(): void {
    if (!this.#alive) return;
    this.#alive = false;
    this.#onDeath();
    this.#death.reject(new Crash(this.name));
  }

  /** A point at which the isolate may die. @throws {Crash} if it does, or is dead; {Outage} if a statement fails. */
  effect(name: string): void {
    const blow = this.#alive ? this.#faults.strikes(this, name) : undefined;
    if (blow === "death") this.kill();
    if (!this.#alive) throw new Crash(`${this.name} at ${name}`);
    if (blow === "error" && name.startsWith("sql ")) throw new Outage(name);
  }

  /** Runs code in it. @throws {Crash} if the isolate dies meanwhile. */
  run<T>(work: () => Promise<T>): Promise<T> {
    return Promise.race([work(), this.#death.promise]);
  }

  /** Code of the isolate waits for something outside: dead code is never told what came of it. */
  async outside<T>(name: string, call: () => Promise<T>): Promise<T> {
    if (!this.#survives(name)) return never();
    try {
      return await call();
    } finally {
      if (!this.#survives(`after ${name}`)) await never();
    }
  }

  #survives(name: string): boolean {
    try {
      this.effect(name);
    } catch {
      return false;
    }
    return true;
  }

  /**
   * An object outside, whose methods the isolate's code calls.
   * @param before what happens before each call, such as the commit that an outgoing message waits for.
   */
  reach<T extends object>(label: string, target: T, before: () => void = () => {}): T {
    return new Proxy(target, {
      get: (object, method: string) => {
        const value = Reflect.get(object, method);
        if (typeof value !== "function") return value;
        return (...args: unknown[]) => {
          return this.outside(`${label}.${method}`, async () => {
            before();
            return value.apply(object, args);
          });
        };
      },
    });
  }
}
