import { Crash, type Faults, type Isolate } from "./isolate.ts";

/** Delivers a call to the object. The answer is a copy. */
export type Deliver = (method: string, args: unknown[]) => Promise<unknown>;

/** A Durable Object as an isolate's code calls it. Messages may be lost in either direction. @param before runs before each call. */
export function stubFor(caller: Isolate, faults: Faults, before: () => void, deliver: Deliver): object {
  const get = (_: object, method: string) => {
    // A stub is not a promise.
    if (method === "then") return undefined;
    return (...args: unknown[]) =>
      caller.outside(`call ${method}`, () => {
        before();
        return call(faults, deliver, method, structuredClone(args));
      });
  };
  return new Proxy({}, { get });
}

async function call(faults: Faults, deliver: Deliver, method: string, args: unknown[]): Promise<unknown> {
  const fault = faults.call(method);
  await faults.pause();
  if (fault === "overloaded") throw remoteError("Durable Object is overloaded.", { overloaded: true, retryable: true });
  if (fault === "lost") throw remoteError("Network connection lost.", { retryable: true });
  try {
    const result = await deliver(method, args);
    await faults.pause();
    if (fault === "reply lost") throw remoteError("Network connection lost.", { retryable: true });
    return result;
  } catch (error) {
    // The platform does not always say whether a broken object may be retried.
    if (error instanceof Crash) throw remoteError("The object broke.", { durableObjectReset: true, retryable: faults.below(2) > 0 });
    throw error;
  }
}

/** The error as it arrives over the wire: without its class and fields. */
export function remoteError(message: string, flags: object = {}): Error {
  return Object.assign(new Error(message), { remote: true, ...flags });
}
