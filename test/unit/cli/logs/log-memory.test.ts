import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import { loggedArms } from "../../../../cli/compare/logged-arms.ts";
import { lineSource } from "../../../../cli/evaluate/event-source.ts";
import type { EventLine, HeadLine } from "../../../../cli/log/event-line.ts";
import { needsOf } from "../../../../cli/log/needs.ts";
import { Ledger } from "../../../../cli/verify/ledger.ts";
import { Rollbacks } from "../../../../cli/verify/rollbacks.ts";
import { uuidAt } from "../../../../worker/domain/ids/uuid.ts";
import type { ImpressionLine } from "../../../../worker/domain/log/log-line.ts";
import type { Policies } from "../../../../worker/domain/model/policies.ts";
import { configuration, headOf } from "../../../support/logs/registered-log.ts";

// The bytes that commands hold for each event of a log, whatever its length. docs/log.md states them.

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;
const EVENTS = 100_000;
/** One impression of so many converts, soon. */
const CONVERTED = 20;

function bytesHeld(): number {
  collect();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

/** Calls `end` after the last line, while the reader still holds what it needs. */
function* lines(end: () => void): Generator<HeadLine | EventLine> {
  yield headOf(EVENTS, EVENTS) as unknown as HeadLine;
  yield configuration as unknown as EventLine;
  const random = Uint8Array.from({ length: 10 }, (_, i) => i);
  let id = "";
  for (let seq = 2; seq <= EVENTS; seq++) {
    const [shownAt, isConversion] = [1_767_225_600_000 + 1000 * seq, seq % CONVERTED === 0];
    new DataView(random.buffer).setUint32(4, Math.imul(seq, 0x9e3779b1));
    if (!isConversion) id = uuidAt(shownAt, random);
    const context = { page: `page ${seq}` };
    const decision = { score: 0, mean: 0, width: 0.1, probability: 0.5, place: 0, candidates: 2 };
    const impression = {
      id,
      state: "live",
      arm: seq % 3 ? "policy" : "holdout",
      action: "hat",
      round: seq,
      reward: null,
      converted: false,
    };
    const shown = { type: "impression", seq, ...impression, version: EVENTS + 1, context, decision, shownAt, features: [0, 0], hashes: [] };
    const conversion = {
      type: "conversion",
      seq,
      impression: id,
      goal: "order",
      event: `e${seq}`,
      reward: 1,
      at: shownAt,
      status: "applied",
    };
    yield (isConversion ? conversion : shown) as unknown as EventLine;
  }
  end();
}

async function* log(end: () => void = () => {}) {
  yield* lines(end);
}

it("compares with less than 64 bytes per event", async () => {
  const ends: number[] = [];
  const before = bytesHeld();
  const progress = { checked() {}, counted() {} };
  await loggedArms(() => log(() => void ends.push(bytesHeld() - before)), undefined, progress);
  expect(ends).toHaveLength(2);
  for (const bytes of ends) expect(bytes / EVENTS).toBeLessThan(64);
});

it("verifies with less than 64 bytes per event", async () => {
  const before = bytesHeld();
  const { awaited, lengths } = await needsOf(log());
  const ledger = new Ledger(new Rollbacks([]), awaited);
  const policy = { dimension: 2, impressions: 0, append: () => ({}), observe() {} };
  const policies = [{ policy, weightAt: () => 1 }] as unknown as Policies;
  for (const line of lines(() => {})) {
    if (line.type === "conversion") ledger.pass(line);
    if (line.type !== "impression") continue;
    policy.impressions = (line.round as number) - 1;
    ledger.show(policies, line as ImpressionLine, { policy: "uniform", goals: null, defaults: 1 });
  }
  expect((bytesHeld() - before) / EVENTS).toBeLessThan(64);
  expect([ledger, lengths]).toBeDefined();
});

it("holds less than 175 bytes per decision that is to be evaluated, whatever the catalogue and the context", async () => {
  const before = bytesHeld();
  const content = { size: 500, changed: Array.from({ length: 500 }, (_, i) => [i, { id: i ? `hat ${i}` : "hat" }]) };
  const catalogue = { type: "mark", seq: 1, mark: "actions", content } as unknown as EventLine;
  async function* withCatalogue() {
    for (const line of lines(() => {})) {
      yield line;
      if (line.type === "mark") yield { ...catalogue, seq: EVENTS + 1 };
    }
  }
  const source = await lineSource(withCatalogue, { progress() {} });
  expect(source.decisions.length).toBeGreaterThan(0.9 * EVENTS);
  expect((bytesHeld() - before) / source.decisions.length).toBeLessThan(175);
});
