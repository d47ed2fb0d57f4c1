import { expect, it } from "vitest";
import { uuidAt } from "../../../worker/domain/ids/uuid.ts";
import { Outbox, type Shown } from "../../../worker/edge/outbox.ts";
import { Problem } from "../../../worker/protocol/problem.ts";

const NOW = Date.UTC(2030, 0, 1);

/** Impressions of an isolate: one whose context has so many characters. */
function shown(characters = 0): Shown {
  const context = characters > 0 ? { text: "x".repeat(characters - JSON.stringify([{ text: "" }, undefined]).length) } : null;
  const id = uuidAt(NOW, crypto.getRandomValues(new Uint8Array(10)));
  const row = { id, name: null, action: "mug", features: new Float64Array(4), context, arm: "policy" as const, version: 1, decision: null };
  return { generation: 1, rows: [{ ...row, keys: [], byPage: false }], unsampled: 0, byPage: false, deferred: false };
}

it("asks one caller to send, and another one 200 ms later, as the first must have been cancelled", () => {
  const outbox = new Outbox();
  expect([1000, 1001, 1199, 1200, 1399, 1400].map((now) => outbox.put(shown(), now))).toEqual([true, false, false, true, false, true]);
});

it("asks another caller when the clock was set back", () => {
  const outbox = new Outbox();
  expect([9000, 8801, 8800, 5000].map((now) => outbox.put(shown(), now))).toEqual([true, false, true, true]);
});

it("asks the next caller once what was gathered is sent", async () => {
  const outbox = new Outbox();
  const sent: number[] = [];
  const send = () => outbox.send(async ({ decisions }) => void sent.push(decisions.length));
  outbox.put(shown(), 1000);
  outbox.put(shown(), 1001);
  await send();
  expect(outbox.put(shown(), 1002)).toBe(true);
  await send();
  expect(sent).toEqual([2, 1]);
});

it("sends no more than five hundred at once, nor many of more than a million bytes together", async () => {
  const sent: number[] = [];
  const outbox = new Outbox();
  for (let n = 0; n < 501; n++) outbox.put(shown(), 1000);
  await outbox.send(async ({ decisions }) => void sent.push(decisions.length));
  // 100,432 bytes each.
  for (let n = 0; n < 12; n++) outbox.put(shown(50_000), 2000);
  await outbox.send(async ({ decisions }) => void sent.push(decisions.length));
  expect(sent).toEqual([500, 1, 9, 3]);
});

it("counts the actions and the context that a request brings", async () => {
  const actions = Array.from({ length: 1000 }, (_, i) => ({ id: `action-${i}`, features: { text: "x".repeat(1000) } }));
  for (const brought of [{ decision: { asked: { actions } } }, { context: actions }]) {
    const { rows, ...rest } = shown();
    const outbox = new Outbox();
    for (let n = 0; n < 3; n++) outbox.put({ ...rest, rows: [{ ...rows[0], ...brought }] } as unknown as Shown, 1000);
    const sent: number[] = [];
    await outbox.send(async ({ decisions }) => void sent.push(decisions.length));
    // Two million bytes each.
    expect(sent).toEqual([1, 1, 1]);
  }
});

it("keeps no more than sixteen million bytes, and tells once how many it gave up, though telling failed before", async () => {
  const outbox = new Outbox();
  // 4,000,432 bytes each: three fit.
  for (let n = 0; n < 5; n++) outbox.put(shown(2_000_000), 1000);
  outbox.keptOut();
  const sent: object[] = [];
  await outbox.send(() => Promise.reject(new Error("lost")));
  const send = () => outbox.send(async ({ decisions, ...counts }) => void sent.push([decisions.length, counts.dropped, counts.keptOut]));
  await send();
  expect(sent).toEqual([
    [1, 2, 1],
    [1, 0, 0],
    [1, 0, 0],
  ]);
});

it("counts what could not be sent among the bytes that it keeps", async () => {
  const outbox = new Outbox();
  for (let n = 0; n < 3; n++) outbox.put(shown(2_000_000), 1000);
  await outbox.send(() => Promise.reject(new Error("lost")));
  for (let n = 0; n < 3; n++) outbox.put(shown(2_000_000), 2000);
  const sent: number[] = [];
  await outbox.send(async ({ decisions, dropped }) => void sent.push(decisions.length, dropped));
  expect(sent).toEqual([1, 3, 1, 0, 1, 0]);
});

it("drops the oldest when decisions wait of which the sampling left everything out", async () => {
  const outbox = new Outbox();
  const nothing = { generation: 1, rows: [], unsampled: 1, byPage: true, deferred: false };
  for (let n = 0; n < 60_000; n++) outbox.put(nothing, 1000);
  const sent: number[] = [];
  await outbox.send(async ({ decisions }) => void sent.push(decisions.length));
  // 16 MB of 400 bytes each.
  expect(sent).toEqual(new Array(80).fill(500));
});

it("gives up a batch that the learner has refused twice, and keeps one that it cannot take yet", async () => {
  for (const [status, left] of [
    [422, 0],
    [503, 1],
  ] as const) {
    const outbox = new Outbox();
    outbox.put(shown(), 1000);
    for (let n = 0; n < 3; n++) await outbox.send(() => Promise.reject(new Problem(status, "no")));
    const sent: number[] = [];
    outbox.put(shown(), 5000);
    await outbox.send(async ({ decisions, dropped }) => void sent.push(decisions.length, dropped));
    expect(sent).toEqual([1 + left, 1 - left]);
  }
});
