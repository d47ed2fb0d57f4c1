import { IDBFactory, IDBObjectStore } from "fake-indexeddb";
import { vi } from "vitest";

type Write = "put" | "delete" | "get" | "clear";

/** Sets an empty IndexedDB on globalThis. `vi.unstubAllGlobals` and `vi.restoreAllMocks` undo it. */
export function emptyDisk(): void {
  vi.stubGlobal("indexedDB", new IDBFactory());
}

/** Makes the disk refuse an operation, always or for some values. */
export function refuse(operation: Write, concerns: (value: unknown) => boolean = () => true): void {
  const original = IDBObjectStore.prototype[operation] as (...args: unknown[]) => IDBRequest;
  vi.spyOn(IDBObjectStore.prototype, operation).mockImplementation(function (this: IDBObjectStore, ...args: unknown[]) {
    if (concerns(args[0])) throw new DOMException("full", "QuotaExceededError");
    return original.apply(this, args);
  } as never);
}
