import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { vi } from "vitest";
import { shardName } from "../../../worker/domain/ids/shard.ts";
import { Learner } from "../../../worker/learner/learner.ts";

/** Stands between caller and target: passes a call on, fails it before arrival, or loses its reply. */
export type Fault = (method: string, call: () => Promise<unknown>) => Promise<unknown>;

/** The real learners, with a fault in front. */
export function learners(fault: Fault): typeof env.LEARNER {
  const namespace = {
    idFromName: (name: string) => env.LEARNER.idFromName(name),
    get: (id: DurableObjectId) => behind(env.LEARNER.get(id), fault),
  };
  return namespace as unknown as typeof env.LEARNER;
}

/** The real KV, with a fault in front. */
export const kv = (fault: Fault): KVNamespace => behind(env.EVENTS, fault);

function behind<Target extends object>(target: Target, fault: Fault): Target {
  const methods = target as Record<string, (...given: unknown[]) => Promise<unknown>>;
  // Calls the method in place, because properties of remote methods are remote too.
  return new Proxy(target, {
    get:
      (_, method: string) =>
      (...given: unknown[]) =>
        fault(method, () => methods[method](...given)),
  });
}

/** The platform's error. */
export const lost = (flags: { readonly retryable?: boolean; readonly overloaded?: boolean } = { retryable: true }): Promise<never> =>
  Promise.reject(Object.assign(new Error("lost"), flags));

export const down = { LEARNER: learners(() => lost()), EVENTS: kv(() => lost()) };

/** Loses the replies of some methods, or of all. */
export const replyLost =
  (...methods: string[]): Fault =>
  async (method, call) => {
    const reply = await call();
    return methods.length === 0 || methods.includes(method) ? lost() : reply;
  };

/** Fails some methods before arrival. */
export const failing =
  (...methods: string[]): Fault =>
  (method, call) =>
    methods.includes(method) ? lost() : call();

/** Passes all calls on and records their methods. */
export function counted(): { readonly calls: string[]; readonly fault: Fault } {
  const calls: string[] = [];
  return {
    calls,
    fault(method, call) {
      calls.push(method);
      return call();
    },
  };
}

/** Runs `before` each call of a method, on all objects of that kind. Returns a function that ends this. */
function intercept(object: object, method: string, fault: (given: unknown[], call: () => unknown) => unknown): () => void {
  const kind = Object.getPrototypeOf(object);
  const original = kind[method];
  kind[method] = function (...given: unknown[]) {
    return fault(given, () => original.apply(this, given));
  };
  return () => {
    kind[method] = original;
  };
}

/** A statement that changes a learner's tables. */
const CHANGE = /INSERT|UPDATE|DELETE/;

/** Runs code while each change of a learner goes through `before`, which may throw. */
export async function withStatements<T>(stub: DurableObjectStub<Learner>, before: (n: number) => void, run: () => Promise<T>): Promise<T> {
  let statements = 0;
  const end = await runInDurableObject(stub, (_, { storage }) =>
    intercept(storage.sql, "exec", ([statement], call) => {
      if (CHANGE.test(String(statement))) before(++statements);
      return call();
    }),
  );
  return run().finally(end);
}

/** Runs a learner that crashes before its n-th effect on tables, alarm, KV or R2, and loses unflushed writes. Returns whether it crashed. */
export async function crashing(n: number, stub: DurableObjectStub<Learner>, run: (learner: Learner) => Promise<unknown>): Promise<boolean> {
  let effects = 0;
  const ends: (() => void)[] = [];
  const done = runInDurableObject(stub, (learner: Learner, state) => {
    const step = (_: unknown, call: () => unknown) => {
      if (++effects < n || n === 0) return call();
      if (effects === n) state.abort("crash");
      throw new Error("crash");
    };
    const { storage } = state;
    ends.push(
      intercept(storage.sql, "exec", (given, call) => (CHANGE.test(String(given[0])) ? step(given, call) : call())),
      ...["setAlarm", "deleteAlarm"].map((method) => intercept(storage, method, step)),
      ...["put", "list", "delete"].map((method) => intercept(env.EVENTS, method, step)),
      ...(env.ARCHIVE ? ["head", "get", "put", "list", "delete"] : []).map((method) => intercept(env.ARCHIVE as R2Bucket, method, step)),
    );
    return run(learner);
  });
  // A crashed learner does not finish its own work.
  await done.catch(() => {});
  for (const end of ends) end();
  return n > 0 && effects >= n;
}

/** Lets shards fail at each order of their coordinator, until the end of the returned function. One at a time: it replaces the method. */
export function unreachable(model: string, ...shards: number[]): () => void {
  const names = shards.map((shard) => shardName(model, shard));
  const { follow } = Learner.prototype;
  if (vi.isMockFunction(follow)) throw new Error("the orders of a coordinator fail already");
  const spy = vi.spyOn(Learner.prototype, "follow").mockImplementation(function (this: Learner, name, order) {
    return names.includes(name) ? Promise.reject(new Error("lost")) : follow.call(this, name, order);
  });
  return () => spy.mockRestore();
}
