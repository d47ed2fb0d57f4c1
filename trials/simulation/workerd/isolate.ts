/** Thrown at the effect at which an isolate dies, and at everything that its code tries afterwards. */
export class Crash extends Error {
  override readonly name = "Crash";
}

/** Thrown when a simulated service fails. */
export class Outage extends Error {
  override readonly name = "Outage";
}

export type CallFault = "lost" | "reply lost" | "overloaded";
export type KvFault = "refused" | "done but failed" | "stale";

export type Blow = "death" | "error";

/** Decides where isolates die and which calls fail. */
export interface Faults {
  /** The fault at an effect, such as `sql INSERT` or `after kv.put`: the isolate dies, or the statement fails. */
  strikes(isolate: Isolate, effect: string): Blow | undefined;
  /** The fault on a call to a Durable Object. */
  call(method: string): CallFault | undefined;
  kv(operation: string, key?: string): KvFault | undefined;
  /** A whole number below `limit`, for random details of a fault. */
  below(limit: number): number;
  /** Waits for the network. Other code continues meanwhile. */
  pause(): Promise<void>;
}

/** A separate promise per waiter. A shared one would retain all waiters. */
const never = (): Promise<never> => new Promise(() => {});

/** An isolate that may die at any effect. Its code then runs at most to the next effect, without consequences. */
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

  /** A point at which the isolate may die. @throws {Crash} if it dies or is dead. @throws {Outage} if a statement fails. */
  effect(name: string): void {
    const blow = this.#alive ? this.#faults.strikes(this, name) : undefined;
    if (blow === "death") this.kill();
    if (!this.#alive) throw new Crash(`${this.name} at ${name}`);
    if (blow === "error" && name.startsWith("sql ")) throw new Outage(name);
  }

  /** Runs code in the isolate. @throws {Crash} if it dies meanwhile. */
  run<T>(work: () => Promise<T>): Promise<T> {
    return Promise.race([work(), this.#death.promise]);
  }

  /** Waits for something outside. Dead code never learns the result. */
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
   * Wraps an outside object whose methods the isolate's code calls.
   * @param before runs before each call, such as the commit that an outgoing message waits for.
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
