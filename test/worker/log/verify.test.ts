import { afterEach, expect, it, vi } from "vitest";
import { verify } from "../../../cli/verify/verification.ts";
import { createApp } from "../../../worker/edge/app.ts";
import { call, convert, createModel, describeModel, keep, recommend, show } from "../support/client.ts";
import { closing, MINUTE_MS, ring, tick, useClock } from "../support/clock.ts";
import { exported, fieldsOf, refusalOf, resealed } from "../support/exported.ts";
import type { Line } from "../support/fold.ts";
import { GOALS, lived, seedIds } from "../support/lived.ts";

useClock();
afterEach(() => void vi.restoreAllMocks());

const kinds = [
  ["delay-lin-ts", {}],
  ["otf-lin-ts", { minimumShare: 0.1, draws: 20 }],
  ["otf-lin-ucb", { shadows: [{ name: "other", policy: "otf-lin-ts" }] }],
  ["gp-ts-sdf", { options: { kernel: { name: "matern52" }, capacity: 4 } }],
] as const;

it.each(kinds)(
  "makes again what %s decided at its learner, bit for bit, through conversions, retractions and a rollback",
  async (policy, config) => {
    const model = await lived({ policy, ...config }, 2);
    const [[closed], shownAt] = [await show(model, {}), Date.now()];
    await ring(model, closing(shownAt));
    await convert({ impressionId: closed, goal: "order", reward: 1 }, { timestamp: shownAt });
    const log = await exported(model);
    const { tally, lines } = await verify(() => log);
    expect(lines).toBe(log.length - 1);
    expect(tally).toMatchObject({ elsewhere: 1 });
    expect(tally.decisions).toBeGreaterThan(100);
    expect(tally.conversions).toBeGreaterThan(20);
    expect(tally.digests).toBeGreaterThan(4);
  },
);

/** A model served at the edge from several snapshots, with requests of all kinds. */
async function servedAtTheEdge(): Promise<string> {
  seedIds();
  const model = await createModel({ serving: "edge", goals: GOALS, holdout: 0.2, minimumShare: 0.05, publish: { ms: MINUTE_MS } });
  const isolates = [createApp(), createApp()];
  for (let n = 0; n < 24; n++) {
    tick(20_000);
    const body = [
      { context: { country: "PT" }, limit: 2 },
      { exclude: ["mug"] },
      { actions: [{ id: "tent" }, { id: "boat", features: { size: "large" } }], limit: 2 },
      { context: { country: "DK" }, greedy: true },
    ][n % 4];
    const [first] = await recommend(model, body, { isolate: isolates[n % 2] });
    if (n % 3 === 0) await convert({ impressionId: first, goal: "order", reward: 1 });
    if (n % 5 === 0) await ring(model, Date.now() + MINUTE_MS);
    if (n === 8) await call("PUT", `/v1/models/${model}/actions`, { actions: ["tent", "lamp", "stove"].map((id) => ({ id })) });
    if (n === 16) await call("PUT", `/v1/models/${model}`, { ...(await bodyOf(model)), draws: 50 });
  }
  return model;
}

async function bodyOf(model: string): Promise<object> {
  const { config } = fieldsOf((await exported(model))[0]);
  const { policy, options, window, serving, encoder, goals, holdout, minimumShare, publish } = config;
  return { policy, options, window, serving, encoder, goals, holdout, minimumShare, publish };
}

it("makes again what isolates decided by snapshots, of a catalogue and a configuration that have changed since", async () => {
  const model = await servedAtTheEdge();
  const log = await exported(model);
  const versions = new Set(log.map((text) => fieldsOf(text).version));
  expect(versions.size).toBeGreaterThan(3);
  const { tally } = await verify(() => log);
  expect(tally.decisions).toBeGreaterThan(30);
  expect(tally.elsewhere).toBe(0);
});

/** Paths of all parts of a value that can be altered. */
function pathsOf(value: unknown, path: readonly string[] = []): string[][] {
  if (value === null || typeof value !== "object" || Object.keys(value).length === 0) return [[...path]];
  return Object.entries(value).flatMap(([name, inner]) => pathsOf(inner, [...path, name]));
}

/** The value with one part changed. */
function altered(value: unknown, [name, ...rest]: readonly string[], by: (value: unknown) => unknown): unknown {
  if (name === undefined) return by(value);
  const copy = Array.isArray(value) ? [...value] : { ...(value as object) };
  (copy as Record<string, unknown>)[name] = altered((value as Record<string, unknown>)[name], rest, by);
  return copy;
}

const another = (value: unknown): unknown => {
  if (typeof value === "number") return -value - 1;
  if (typeof value === "boolean") return !value;
  return typeof value === "string" ? `${value}x` : 1;
};

it("finds each field of each kind of line that was altered, by its receipt, and names the line", async () => {
  const model = await lived({ policy: "otf-lin-ts" }, 3);
  const log = await exported(model);
  const kindOf = ({ type, mark, status, state }: Line) => [type, mark, status, state].join(" ");
  const places = new Map(log.map((text, place) => [kindOf(fieldsOf(text)), place]));
  expect(places.size).toBeGreaterThan(9);
  for (const place of places.values()) {
    const { receipt, ...line } = JSON.parse(log[place]);
    const paths = pathsOf(line).filter(([name, index]) => name !== "features" || Number(index) < 2);
    for (const path of [...paths, ["receipt"]]) {
      const text = JSON.stringify(altered({ ...line, receipt }, path, path[0] === "receipt" ? () => "A".repeat(22) : another));
      const refusal = await refusalOf([...log.slice(0, place), text]);
      expect(refusal, path.join(".")).toMatch(new RegExp(`^line ${place + 1}[ :,]|the head|, event ${line.seq}, `));
    }
  }
  for (const place of [1, 20, log.length - 1]) {
    expect(await refusalOf(log.toSpliced(place, 1))).toMatch(
      place < log.length - 1 ? new RegExp(`^line ${place + 1}, `) : /^line 1, the head/,
    );
  }
  expect(await refusalOf(log.toSpliced(9, 2, log[10], log[9]))).toMatch(/^line 10, /);
});

it("finds an altered decision, probability, outcome or digest though all receipts were made anew", async () => {
  const model = await servedAtTheEdge();
  const lines = (await exported(model)).map(fieldsOf);
  const find = (test: (line: Line) => boolean): number => {
    const place = lines.findIndex(test);
    expect(place).toBeGreaterThan(0);
    return place;
  };
  const first = find(
    ({ type, decision }) => type === "impression" && decision.place === 0 && decision.probability < 0.9 && !decision.asked,
  );
  const second = find(({ decision }) => decision?.place === 1);
  const asked = find(({ decision }) => decision?.asked?.exclude);
  const listed = find(({ action, decision }) => action === "boat" && decision.asked.actions);
  const mean = find(({ decision }) => decision?.asked?.greedy);
  const converted = find(({ type, status }) => type === "conversion" && status === "applied");
  const snapshot = lines.findLastIndex(({ mark }) => mark === "snapshot");
  const catalogue = find(({ mark }) => mark === "actions");
  const change = lines.findLastIndex(({ mark }) => mark === "configuration");
  const early = lines[find(({ mark }) => mark === "snapshot")].seq;
  const cases: [number, string[], (value: never) => unknown][] = [
    [first, ["action"], () => "hat"],
    [first, ["arm"], (arm: string) => (arm === "policy" ? "holdout" : "policy")],
    [first, ["features", "0"], (x: number) => x + 2 ** -12],
    [first, ["context"], () => ({ country: "FR" })],
    [first, ["decision", "probability"], (p: number) => p + 2 ** -50],
    [first, ["decision", "score"], (x: number) => x * (1 + 2 ** -52)],
    [first, ["decision", "mean"], (x: number) => x + 2 ** -40],
    [first, ["decision", "width"], (x: number) => x * (1 + 2 ** -52)],
    [first, ["decision", "candidates"], (k: number) => k + 1],
    [first, ["decision", "place"], () => 1],
    [first, ["version"], () => early - 1],
    [first, ["round"], (round: number) => round + 1],
    [first, ["shownAt"], (at: number) => at + 1],
    [first, ["reward"], () => 0.5],
    [first, ["converted"], (is: boolean) => !is],
    [first, ["state"], () => "void"],
    [first, ["seq"], (seq: number) => seq - 1],
    [second, ["decision", "first"], (id: string) => id.replace(/.$/, (digit) => (digit === "0" ? "1" : "0"))],
    [asked, ["decision", "asked"], () => ({ exclude: ["lamp"] })],
    [listed, ["decision", "asked", "actions", "1", "features", "size"], () => "small"],
    [mean, ["decision", "asked", "greedy"], () => false],
    [converted, ["reward"], () => 0.5],
    [converted, ["status"], () => "conflict"],
    [converted, ["impression"], () => lines[second].id],
    [snapshot, ["content", "digest"], () => "0123456789abcdef"],
    [catalogue, ["content", "changed", "0", "1", "id"], () => "tents"],
    [change, ["content", "draws"], () => 60],
    [0, ["digest"], () => "0123456789abcdef"],
    [0, ["lines"], (n: number) => n - 1],
    [0, ["modelVersion"], () => 1],
  ];
  expect(await verify(() => resealed(lines))).toMatchObject({ lines: lines.length - 1 });
  for (const [place, path, by] of cases) {
    const log = resealed(lines.with(place, altered(lines[place], path, by as never) as Line));
    expect(await refusalOf(log), `${path.join(".")} of line ${place + 1}`).toMatch(/^(line \d+, )?(event|the head)/);
  }
});

it("says what it cannot show: a part of a log, one that its model has forgotten, one with something erased", async () => {
  const model = await createModel();
  const [id] = await recommend(model);
  const part = (await call("GET", `/v1/models/${model}/events?after=2`)).body.trimEnd().split("\n");
  expect(await refusalOf(part)).toContain("starts after event 2");
  const [head, ...lines] = (await exported(model)).map(fieldsOf);
  expect(await refusalOf(resealed([{ ...head, horizon: head.generation + 1 }, ...lines]))).toContain("retention");
  await keep(model);
  await call("DELETE", `/v1/impressions/${id}`);
  expect(await refusalOf(await exported(model))).toContain("was erased");
  expect(await refusalOf([""])).toBe("expected an exported log, got an empty one");
  expect(await refusalOf(["{"])).toBe("line 1: expected a line of an exported log, got no JSON");
});

it("makes a list again whose second item was activated before the first", async () => {
  const model = await createModel();
  const ids = await recommend(model, { limit: 2, defer: true });
  expect(ids).toHaveLength(2);
  for (const id of ids.toReversed()) expect((await call("POST", `/v1/impressions/${id}/activate`)).body.status).toBe("activated");
  const log = await exported(model);
  expect((await verify(() => log)).tally.decisions).toBe(2);
});

it("is whole again after a reset", async () => {
  const model = await createModel();
  await recommend(model);
  tick(1000);
  expect((await call("POST", `/v1/models/${model}/reset`, {})).status).toBeLessThan(300);
  await recommend(model);
  const log = await exported(model);
  expect((await verify(() => log)).tally.decisions).toBe(1);
  expect((await describeModel(model)).counts.impressions).toBe(1);
});
