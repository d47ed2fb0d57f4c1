import { otfLinUcb, Recommender } from "afterclick";
import { expect, it } from "vitest";
import { account, closing, exportOf } from "../../trials/simulation/account.ts";
import type { Sale, Shop } from "../../trials/simulation/shop.ts";
import type { World } from "../../trials/simulation/world.ts";
import { uuidAt } from "../../worker/domain/ids/uuid.ts";

const HOUR_MS = 3_600_000;
const WINDOW_MS = 4 * HOUR_MS;
const shownAt = Date.UTC(2100, 0, 1, 12, 59);
// Hand-made data: a bucket from twelve to one, a window of four hours, a grace of five minutes.
const CLOSES = Date.UTC(2100, 0, 1, 17, 5);

it("knows by itself when books close", () => {
  expect(closing(shownAt, WINDOW_MS)).toBe(CLOSES);
  expect(closing(Date.UTC(2100, 0, 1, 12, 30), 2 * HOUR_MS)).toBe(Date.UTC(2100, 0, 1, 15, 5));
  expect(closing(Date.UTC(2100, 0, 1, 12, 4, 59), 600_000)).toBe(Date.UTC(2100, 0, 1, 12, 20));
});

interface Case {
  /** Time after the impression. */
  readonly delay: number;
  readonly answeredAt: number;
  readonly status?: string;
  readonly answer?: string;
  readonly state?: "live" | "void";
  /** The log's lines in their order. "void" is the event before the rollback undid it. */
  readonly log?: readonly ("impression" | "conversion" | "rollback" | "void")[];
}

/** The events of one conversion of one impression. */
async function judged({ delay, answeredAt, status = "late", answer = "late", state = "live", ...given }: Case): Promise<string[]> {
  const id = uuidAt(shownAt, new Uint8Array(10));
  const policy = otfLinUcb({ dimension: 2 });
  const recommender = await Recommender.create({ policy, window: { ms: WINDOW_MS }, seed: 1 });
  if (state === "live") recommender.policy.append({ features: Float64Array.of(0.5, 0.5), round: 1, now: shownAt });
  const sale: Sale = {
    impression: id,
    goal: "conversion",
    event: "a",
    reward: 1,
    at: shownAt + delay,
    answers: new Map([[answer, answeredAt]]),
  };
  const log = given.log ?? ["impression", "conversion", ...(state === "void" ? ["rollback" as const] : [])];
  if (log.includes("void")) sale.answers.set("applied", shownAt);
  const { answers: _, ...sent } = sale;
  const conversion = { type: "conversion", ...sent, impression: id };
  const lines = {
    impression: { type: "impression", id, state, features: [0.5, 0.5], reward: null },
    conversion: { ...conversion, status },
    void: { ...conversion, status: "void" },
    rollback: { type: "mark", mark: "rollback" },
  };
  const shop = { windowMs: WINDOW_MS, sales: [sale], unknown: 0, shown: [{ id, token: "", registered: true, deferred: false }] };
  const live = state === "live" ? 1 : 0;
  const counts = { applied: 0, conflict: 0, orphan: 0, late: 0, [status]: 1, impressions: live, pending: 0 };
  const description = {
    policy: "otf-lin-ucb",
    options: policy.options,
    window: { ms: WINDOW_MS },
    reward: { min: 0, max: 1 },
    seed: 1,
    goals: null,
    counts,
    incidents: { missed: 0, refused: 0, dropped: 0 },
    digest: recommender.policy.digest(),
  };
  const exported = exportOf(description as never, log.map((line) => JSON.stringify(lines[line])).join("\n"));
  return account(shop as unknown as Shop, {} as World, exported);
}

it.each<[string, Case]>([
  ["after the window", { delay: WINDOW_MS + 1, answeredAt: shownAt + WINDOW_MS + 1 }],
  ["once its books are closed", { delay: 0, answeredAt: CLOSES }],
  ["of what was rolled back", { delay: 0, answeredAt: shownAt, state: "void" }],
  [
    "whose impression is registered again after a rollback",
    { delay: 0, answeredAt: shownAt, log: ["rollback", "conversion", "impression"] },
  ],
  [
    "that a rollback undid, once its books are closed",
    { delay: 0, answeredAt: CLOSES, log: ["impression", "void", "rollback", "conversion"] },
  ],
])("lets a conversion be late %s", async (_, given) => {
  expect(await judged(given)).toEqual([]);
});

it.each<[string, Case]>([
  ["in the last moment of its window", { delay: WINDOW_MS, answeredAt: CLOSES - 1 }],
  ["before a rollback", { delay: 0, answeredAt: shownAt, log: ["conversion", "rollback", "impression"] }],
  ["after a rollback of other impressions", { delay: 0, answeredAt: shownAt, log: ["impression", "rollback", "conversion"] }],
  ["again after a rollback", { delay: 0, answeredAt: CLOSES - 1, log: ["impression", "void", "rollback", "conversion"] }],
  ["of which only the repetition was answered", { delay: 0, answeredAt: CLOSES - 1, answer: "duplicate" }],
])("finds a conversion that was called late though it came in time, %s", async (_, given) => {
  expect(await judged(given)).toEqual([expect.stringMatching(/late, though it came in time$/)]);
});

it("finds a conversion that was called late and kept as something else", async () => {
  expect(await judged({ delay: 0, answeredAt: CLOSES, status: "orphan" })).toEqual([
    expect.stringMatching(/called late, and in the log as orphan$/),
  ]);
});
