import { expect, it } from "vitest";
import { call, convert, createModel } from "../support/client.ts";

// Answers state expected rewards inside their range. The log keeps the posterior's means.

interface Action {
  readonly impressionId: string;
  readonly id: string;
  readonly mean: number;
}

interface Belief {
  readonly mean: number;
  readonly average: number | null;
  readonly low: number | null;
  readonly high: number | null;
}

/** Whether a belief is inside the range, with the average in its interval. `counts`: whether the policy counts products. */
function sane({ mean, average, low, high }: Belief, min: number, max: number, counts: boolean): boolean {
  if (!(min <= mean && mean <= max)) return false;
  if (!counts) return average === null && low === null && high === null;
  if (low === null || high === null || !(min <= low && low < high && high <= max)) return false;
  return average === null ? low === min && high === max : low <= average && average <= high;
}

/** Teaches a model that only mugs sell, so that it expects less than nothing of others. Returns the last answers, and the decisions of the log. */
async function taught(body: object, sold: readonly { readonly goal: string; readonly reward: number }[]) {
  const model = await createModel(body);
  let shown: Action[] = [];
  for (let round = 0; round < 4; round++) {
    const answer = await call("POST", `/v1/models/${model}/recommendations`, { limit: 3, context: { visit: `${round}` } });
    shown = answer.body.actions;
    const impressionId = shown.find(({ id }) => id === "mug")?.impressionId;
    if (round < 3) for (const each of sold) await convert({ impressionId, ...each });
  }
  const { body: log } = await call("GET", `/v1/models/${model}/events`);
  const lines = (log as string).trim().split("\n");
  // The newest decision about each product.
  const logged = new Map(lines.map((line) => JSON.parse(line)).map(({ action, decision }) => [action, decision?.mean]));
  const explained = await Promise.all(shown.map(({ impressionId }) => call("GET", `/v1/impressions/${impressionId}`)));
  return { shown, explained: explained.map(({ body }) => body), posterior: shown.map(({ id }) => logged.get(id)) };
}

const conversion = { goal: "conversion", reward: 1 };
const purchase = { goal: "purchase", reward: 1 };

it.each([
  ["rewards of 0 to 1", {}, [conversion], 0, 1],
  ["rewards of -1 to 1", { reward: { min: -1, max: 1 } }, [{ goal: "conversion", reward: -1 }], -1, 1],
  [
    "goals of both signs",
    { goals: { click: { weight: -0.25 }, purchase: { weight: 0.5 } } },
    [{ goal: "click", reward: 1 }, purchase],
    -0.25,
    0.5,
  ],
  ["a funnel", { goals: { click: { weight: 0 }, purchase: { weight: 0.5, after: "click" } } }, [purchase], 0, 0.5],
  ["an upper confidence policy", { policy: "otf-lin-ucb" }, [conversion], 0, 1],
  ["a Gaussian process", { policy: "delay-gp-ucb" }, [conversion], 0, 1],
])("recommendations and explanations do, with %s", async (_, body, sold, min, max) => {
  const counts = !("policy" in body);
  const { shown, explained, posterior } = await taught(body, sold);
  shown.forEach(({ mean }, i) => {
    expect(mean).toBe(Math.min(Math.max(posterior[i], min), max));
    const { decision, now, candidates } = explained[i];
    expect(decision.mean).toBe(mean);
    expect([now, ...candidates.map(({ belief }: { belief: Belief }) => belief)].map((each) => sane(each, min, max, counts))).toEqual(
      Array(4).fill(true),
    );
  });
});

it("do so though the posterior expects less than nothing", async () => {
  const { shown, posterior } = await taught({}, [conversion]);
  expect(posterior.some((mean) => mean < 0)).toBe(true);
  expect(shown.filter(({ mean }) => mean === 0).length).toBe(posterior.filter((mean) => mean <= 0).length);
});
