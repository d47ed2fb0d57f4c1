import { expect, it } from "vitest";
import { Outbox } from "../../worker/edge/outbox.ts";

/** Impressions of an isolate: one with so many numbers. */
function shown(numbers = 4): Parameters<Outbox["put"]>[0] {
  const row = { features: new Float64Array(numbers), context: null };
  return { generation: 1, rows: [row], deferred: false } as unknown as Parameters<Outbox["put"]>[0];
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
  const send = () => outbox.send(async ({ batch }) => void sent.push(batch.length));
  outbox.put(shown(), 1000);
  outbox.put(shown(), 1001);
  await send();
  expect(outbox.put(shown(), 1002)).toBe(true);
  await send();
  expect(sent).toEqual([2, 1]);
});

it("sends no more than five hundred at once, nor many of more than four million bytes together", async () => {
  const sent: number[] = [];
  const outbox = new Outbox();
  for (let n = 0; n < 501; n++) outbox.put(shown(), 1000);
  await outbox.send(async ({ batch }) => void sent.push(batch.length));
  // 400,400 bytes each: the tenth fills it.
  for (let n = 0; n < 12; n++) outbox.put(shown(50_000), 2000);
  await outbox.send(async ({ batch }) => void sent.push(batch.length));
  expect(sent).toEqual([500, 1, 10, 2]);
});

it("counts the actions and the context that a request brings", async () => {
  const actions = Array.from({ length: 1000 }, (_, i) => ({ id: `action-${i}`, features: { text: "x".repeat(1000) } }));
  for (const brought of [{ decision: { asked: { actions } } }, { context: actions }]) {
    const { rows, ...rest } = shown();
    const outbox = new Outbox();
    for (let n = 0; n < 7; n++) outbox.put({ ...rest, rows: [{ ...rows[0], ...brought }] } as unknown as ReturnType<typeof shown>, 1000);
    const sent: number[] = [];
    await outbox.send(async ({ batch }) => void sent.push(batch.length));
    // Two million bytes each.
    expect(sent).toEqual([2, 2, 2, 1]);
  }
});

it("keeps no more than sixteen million bytes, and tells once how many it gave up, though telling failed before", async () => {
  const outbox = new Outbox();
  // 4,000,400 bytes each: three fit.
  for (let n = 0; n < 5; n++) outbox.put(shown(500_000), 1000);
  outbox.keptOut();
  const sent: object[] = [];
  await outbox.send(() => Promise.reject(new Error("lost")));
  const send = () => outbox.send(async ({ batch, dropped, keptOut }) => void sent.push({ batch: batch.length, dropped, keptOut }));
  await send();
  expect(sent).toEqual([
    { batch: 1, dropped: 2, keptOut: 1 },
    { batch: 1, dropped: 0, keptOut: 0 },
    { batch: 1, dropped: 0, keptOut: 0 },
  ]);
});

it("counts what could not be sent among the bytes that it keeps", async () => {
  const outbox = new Outbox();
  for (let n = 0; n < 3; n++) outbox.put(shown(500_000), 1000);
  await outbox.send(() => Promise.reject(new Error("lost")));
  for (let n = 0; n < 3; n++) outbox.put(shown(500_000), 2000);
  const sent: number[] = [];
  await outbox.send(async ({ batch, dropped }) => void sent.push(batch.length, dropped));
  expect(sent).toEqual([1, 3, 1, 0, 1, 0]);
});

it("drops the oldest when decisions wait of which the sampling left everything out", async () => {
  const outbox = new Outbox();
  const nothing = { generation: 1, rows: [], unsampled: 1, byPage: true, deferred: false };
  for (let n = 0; n < 60_000; n++) outbox.put(nothing, 1000);
  const sent: number[] = [];
  await outbox.send(async ({ batch }) => void sent.push(batch.length));
  // 16 MB of 400 bytes each.
  expect(sent).toEqual(new Array(80).fill(500));
});
