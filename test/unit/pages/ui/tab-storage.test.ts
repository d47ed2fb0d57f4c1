import { afterEach, expect, it, vi } from "vitest";
import { readTab, writeTab } from "../../../../pages/ui/tab-storage.ts";

afterEach(() => void vi.unstubAllGlobals());

it("the storage of a tab holds an entry until it is written empty", () => {
  const stored = new Map<string, string>();
  vi.stubGlobal("sessionStorage", {
    getItem: (name: string) => stored.get(name) ?? null,
    setItem: (name: string, value: string) => void stored.set(name, value),
    removeItem: (name: string) => void stored.delete(name),
  });
  expect(readTab("key")).toBe("");
  expect([writeTab("key", "sk"), readTab("key"), readTab("other")]).toEqual([true, "sk", ""]);
  expect([writeTab("key", ""), readTab("key"), stored.size]).toEqual([true, "", 0]);
});

it("the storage of a tab is empty where the browser refuses it", () => {
  const refuse = () => {
    throw new DOMException("denied", "SecurityError");
  };
  vi.stubGlobal("sessionStorage", { getItem: refuse, setItem: refuse, removeItem: refuse });
  expect([readTab("key"), writeTab("key", "sk"), writeTab("key", "")]).toEqual(["", false, false]);
});
