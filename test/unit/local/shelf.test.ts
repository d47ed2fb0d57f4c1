import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Shelf } from "../../../src/local/shelf.ts";
import { emptyDisk, refuse } from "../../support/disk.ts";

let reports: string[];
const shelf = (name = "shop") => new Shelf(name, ({ name: problem }) => reports.push(problem));

beforeEach(() => {
  reports = [];
  emptyDisk();
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

describe("a shelf", () => {
  it("holds values over visits, each kept as it was when it was set", async () => {
    const value = { bytes: Uint8Array.of(1, 2), nested: { at: 3 } };
    const before = shelf();
    await before.set("state", value);
    value.nested.at = 4;
    for (const each of [before, shelf()]) expect(await each.get("state")).toEqual({ bytes: Uint8Array.of(1, 2), nested: { at: 3 } });
    expect(await shelf().get("other")).toBeUndefined();
    expect(reports).toEqual([]);
  });

  it("is a database of its own, whose name later versions have to find again", async () => {
    await shelf("https://worker.example/ shop").set("state", 1);
    await shelf("own news").set("state", 2);
    expect((await indexedDB.databases()).map(({ name }) => name).sort()).toEqual([
      "afterclick https://worker.example/ shop",
      "afterclick own news",
    ]);
    expect(await shelf("own news").get("state")).toBe(2);
    const opened = await new Promise<IDBDatabase>((resolve) => {
      const request = indexedDB.open("afterclick own news");
      request.onsuccess = () => resolve(request.result);
    });
    expect([...opened.objectStoreNames]).toEqual(["values"]);
  });

  it("opens its database once", async () => {
    const open = vi.spyOn(indexedDB, "open");
    const only = shelf();
    await only.set("a", 1);
    await only.get("a");
    await only.clear();
    expect(open).toHaveBeenCalledOnce();
  });

  it("deletes what it is told to, and nothing else", async () => {
    const one = shelf();
    for (const key of ["a", "b", "c"]) await one.set(key, key);
    await one.delete(["a", "c"]);
    for (const each of [one, shelf()]) {
      expect([await each.get("a"), await each.get("b"), await each.get("c")]).toEqual([undefined, "b", undefined]);
      expect(await each.startingWith("")).toEqual([["b", "b"]]);
    }
  });

  it("is empty when it was cleared, also of what only memory held", async () => {
    const one = shelf();
    await one.set("a", 1);
    refuse("put");
    await one.set("b", 2);
    await one.clear();
    expect([await one.get("a"), await one.get("b")]).toEqual([undefined, undefined]);
    expect(await shelf().startingWith("")).toEqual([]);
  });

  it("lists the values whose keys begin so, in the order of their keys", async () => {
    const one = shelf();
    for (const key of ["letter b", "letter c", "other", "letter a", "a letter d"]) await one.set(key, key.toUpperCase());
    expect(await one.startingWith("letter ")).toEqual([
      ["letter a", "LETTER A"],
      ["letter b", "LETTER B"],
      ["letter c", "LETTER C"],
    ]);
  });

  it("sees what another tab has set or deleted since", async () => {
    const [here, there] = [shelf(), shelf()];
    await here.set("a", 1);
    await there.set("a", 2);
    expect(await here.get("a")).toBe(2);
    await here.delete(["a"]);
    await there.set("a", 3);
    expect(await here.get("a")).toBe(3);
    expect(await here.startingWith("a")).toEqual([["a", 3]]);
  });

  it("gives what was set before it is written", async () => {
    const one = shelf();
    await one.set("a", 1);
    const writing = one.set("a", 2);
    expect(await one.get("a")).toBe(2);
    const deleting = one.delete(["a"]);
    expect(await one.get("a")).toBeUndefined();
    await Promise.all([writing, deleting]);
    expect(await shelf().get("a")).toBeUndefined();
  });
});

describe("where the disk refuses", () => {
  it("to be cleared, that is reported before it is said to be done", async () => {
    const one = shelf();
    await one.set("a", 1);
    refuse("clear");
    await one.clear();
    expect(reports).toEqual(["QuotaExceededError"]);
  });

  it("a value, it is kept for this visit and reported", async () => {
    const one = shelf();
    await one.set("a", "stored");
    refuse("put");
    await one.set("a", "kept");
    expect(reports).toHaveLength(1);
    await one.set("b", "kept too");
    expect([await one.get("a"), await one.get("b")]).toEqual(["kept", "kept too"]);
    expect(await one.startingWith("")).toEqual([
      ["a", "kept"],
      ["b", "kept too"],
    ]);
    expect(reports).toEqual(["QuotaExceededError", "QuotaExceededError"]);
    expect(await shelf().startingWith("")).toEqual([["a", "stored"]]);
  });

  it("a deletion, the value is gone for this visit", async () => {
    const one = shelf();
    await one.set("a", 1);
    refuse("delete");
    await one.delete(["a"]);
    expect(reports).toHaveLength(1);
    expect(await one.get("a")).toBeUndefined();
    expect(await one.startingWith("")).toEqual([]);
    expect(reports).toEqual(["QuotaExceededError"]);
  });

  it("the later of two values, the earlier one does not come back", async () => {
    const one = shelf();
    refuse("put", (value) => value === "later");
    await Promise.all([one.set("a", "earlier"), one.set("a", "later")]);
    expect(await one.get("a")).toBe("later");
  });

  it("a value that was set anew while its key was deleted, the value stands", async () => {
    const one = shelf();
    await one.set("a", "first");
    refuse("put", (value) => value === "again");
    await Promise.all([one.delete(["a"]), one.set("a", "again")]);
    expect(await one.get("a")).toBe("again");
  });

  it("everything, it has what this visit has set", async () => {
    vi.stubGlobal("indexedDB", undefined);
    const one = shelf();
    expect([await one.get("a"), await one.startingWith("")]).toEqual([undefined, []]);
    for (const key of ["b", "c", "a"]) await one.set(key, 1);
    expect(await one.get("a")).toBe(1);
    expect((await one.startingWith("")).map(([key]) => key)).toEqual(["a", "b", "c"]);
    await one.delete(["a"]);
    await one.clear();
    expect(await one.get("a")).toBeUndefined();
    expect(new Set(reports)).toEqual(new Set(["TypeError"]));
  });
});
