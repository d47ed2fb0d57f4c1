import { Crash, type Faults, type Isolate } from "./isolate.ts";

/** Brings a call to the object; the answer comes as a copy. */
export type Deliver = (method: string, args: unknown[]) => Promise<unknown>;

/** A Durable Object as an isolate's code calls it: either way a message may be lost. */
export function stubFor(caller: Isolate, faults: Faults, deliver: Deliver): object {
  const get = (_: object, method: string) => {
    // A stub is not a promise.
    if (method === "then") return undefined;
    return (...args: unknown[]) => caller.outside(`call ${method}`, () => call(faults, deliver, method, structuredClone(args)));
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
    // Whether a broken object may be tried again is not always said.
    if (error instanceof Crash) throw remoteError("The object broke.", { durableObjectReset: true, retryable: faults.below(2) > 0 });
    throw error;
  }
}

/** As it comes over the wire: without the class and the fields of what was thrown. */
export function remoteError(message: string, flags: object = {}): Error {
  return Object.assign(new Error(message), { remote: true, ...flags });
}
