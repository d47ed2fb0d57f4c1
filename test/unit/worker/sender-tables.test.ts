import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { table, withTables } from "../../../cli/command/markdown.ts";
import { valueAt } from "../../../worker/domain/conversion/json-path.ts";
import { STATES } from "../../../worker/domain/orders/states.ts";
import { STRIPE_EVENTS } from "../../../worker/domain/orders/vendor-events.ts";
import { senderTables } from "../../../worker/openapi/sender-tables.ts";

it("the tables of docs/senders.md are as `npm run options` writes them", async () => {
  const page = await readFile("docs/senders.md", "utf8");
  const tables = Object.entries(senderTables()).map(([name, [head, rows]]) => [name, table(head, rows, head.length)]);
  expect(withTables(page, Object.fromEntries(tables))).toBe(page);
});

it("a message of Stripe that counts has a state that counts, and one that waits or takes everything back has another", () => {
  for (const [type, { effect, state, form }] of Object.entries(STRIPE_EVENTS)) {
    expect([type, form !== undefined]).toEqual([type, effect !== "ignored"]);
    if (effect === "counts") expect([type, state && STATES[state].counts]).toEqual([type, true]);
    if (effect === "waits") expect([type, state && STATES[state].counts]).toEqual([type, false]);
  }
});

it.each<[path: string, value: unknown]>([
  ["$.meta_data[key=sku].value", "A-1"],
  ["meta_data[key=_afterclick].value", "id"],
  ["meta_data[key=none].value", undefined],
  ["meta_data[id=7].key", "_afterclick"],
  ["meta_data[1].value", "id"],
  ["meta_data[9].value", undefined],
  ["meta_data.key", undefined],
  ["total[key=sku].value", undefined],
  ["__proto__.x", undefined],
])("the value at %s is %j", (path, value) => {
  const meta_data = [{ id: 6, key: "sku", value: "A-1" }, { id: 7, key: "_afterclick", value: "id" }, null];
  expect(valueAt(path, { meta_data, total: "1.00" })).toBe(value);
});
