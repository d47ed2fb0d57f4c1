// Looks for the request of a page that costs the worker most.

import { setTimeout as sleep } from "node:timers/promises";
import { CpuMeter } from "../cpu-meter.ts";
import { cheapness, soundness } from "../judge.ts";
import { LETTERS, MOST, PAGE_BYTES, requestOf, type Shape, START } from "../page-request.ts";
import type { Attempt, Group, Stage } from "../stage.ts";

/** The promise is 50 ms for the answer. The rest is the local proxy, the learner's registration, garbage and other load. */
const MOST_MS = 200;
/** Garbage and compilation of earlier requests count for some runs, but not for all. */
const RUNS = 4;
/** After this long the impressions of a request are registered. */
const SETTLED_MS = 120;

const STARTS: readonly Partial<Shape>[] = [
  {},
  { names: 31, categories: 64, length: 3 },
  { names: 4, categories: 62, length: 256 },
  { names: 256, categories: 0, length: 256 },
  { actions: 1000, actionNames: 1, actionCategories: 10, actionLength: 5, limit: 20 },
  { actions: 60, actionNames: 1, actionCategories: 60, actionLength: 20 },
  { limit: 20, excluded: 1000 },
  { limit: 20, excluded: 80 },
];
const ENCODERS: readonly object[] = [
  { dimension: 64, interactions: "all" },
  {
    dimension: 64,
    interactions: [
      ["c", "d"],
      ["c", "b"],
    ],
  },
];

interface Tried {
  readonly shape: Shape;
  readonly letter: string;
  readonly ms: number;
}

/** A search for the request of a page that takes the most CPU time. @param group the process group of the worker. */
export const cost = (group: () => number): Group => ({
  name: "cost search",
  async prepare(stage) {
    const { target } = stage;
    const catalogue = Array.from({ length: 1000 }, (_, i) => ({
      id: `${i}`.padStart(36, "0"),
      features: { a: `brand-${i % 50}`, b: [`tag ${i % 7}`, `tag ${i % 11}`], title: `a title of a product ${i}` },
    }));
    const models = await Promise.all(
      ENCODERS.map(async (encoder, i) => {
        const model = await target.createModel(`cost-${i}`, { encoder, pageActions: true, local: true, serving: "edge" });
        await target.send("PUT", `/v1/models/${model}/actions`, { key: target.secretKey, json: catalogue });
        return model;
      }),
    );
    return models.flatMap((model): Attempt[] => {
      let worst: Tried = { shape: START, letter: "x", ms: 0 };
      const tryOut = async (shape: Shape, letter: string) => {
        const body = JSON.stringify(requestOf(shape, letter));
        if (Buffer.byteLength(body) > PAGE_BYTES) return stage.check("a body over the limit", null);
        let ms = Number.POSITIVE_INFINITY;
        for (let run = 0; run < RUNS && ms > Math.min(MOST_MS, worst.ms); run++)
          ms = Math.min(ms, await measured(stage, group(), model, body));
        stage.check(`a request of a page to ${model}, ${letter} ${JSON.stringify(shape)}`, cheapness(ms, MOST_MS));
        if (ms >= worst.ms) worst = { shape, letter, ms };
      };
      return [
        ...STARTS.map(
          (start): Attempt =>
            () =>
              tryOut({ ...START, ...start }, stage.pick(LETTERS)),
        ),
        ...stage.repeated(25, () => tryOut(altered(worst.shape, stage), stage.pick(LETTERS))),
        async () => stage.note(`${model}: the worst request took ${worst.ms.toFixed(0)} ms of CPU time: ${JSON.stringify(worst.shape)}`),
      ];
    });
  },
});

/** CPU time of a request and of what it causes, in ms. The time of the answer where the system states none. */
async function measured(stage: Stage, group: number, model: string, body: string): Promise<number> {
  const meter = new CpuMeter(group);
  const [before, start] = [await meter.read(), performance.now()];
  const answer = await stage.target.send("POST", `/v1/models/${model}/recommendations`, { key: stage.target.publishableKey, body });
  const answered = performance.now() - start;
  await sleep(SETTLED_MS);
  const after = await meter.read();
  stage.check(`a request of a page of ${body.length} characters`, soundness(answer));
  return before === undefined || after === undefined ? answered : after - before;
}

/** Changes one size by a half or a little, or takes its least or greatest value. */
function altered(shape: Shape, stage: Stage): Shape {
  const name = stage.pick(Object.keys(MOST) as (keyof Shape)[]);
  const least = name === "limit" || name === "names" ? 1 : 0;
  const value = stage.pick([2, 0.5, 1.2, 0.9].map((factor) => Math.round(shape[name] * factor)).concat(shape[name] + 1, least, MOST[name]));
  return { ...shape, [name]: Math.max(least, Math.min(MOST[name], value)) };
}
