// Sends values at and beyond the limits that the description states.

import { type Description, filled, type Route, routesOf } from "../description.ts";
import { bent, brokenText, type Ground, grown } from "../extreme.ts";
import { shown, soundness, success } from "../judge.ts";
import type { Group, Stage } from "../stage.ts";
import { HOUR_MS } from "../target.ts";

const MODELS = 10;
const PATHS = [
  ...["__proto__", "constructor", "events", ".", "..%2f", "%", "%00", "%ff", "a%2fb", "é", "%F0%9F%91%9F", "A._-9"],
  ...["a".repeat(65), "a".repeat(5000)],
];
const CONTENT_TYPES = [
  ...["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"],
  ...["application/json; charset=utf-16", "*/*"],
];
/** Models that differ in what they take. */
const CONFIGS: readonly object[] = [
  {},
  { serving: "edge", local: true },
  { options: { dimension: 4 }, featureNorm: 3 },
  { encoder: { dimension: 16, numeric: { price: { min: 0, max: 100 } }, interactions: "all" }, pageActions: true },
  { goals: { click: { weight: 0 }, purchase: { weight: 1 } }, holdout: 0.1, draws: 20 },
];
const MOST_SENT = 200;

/** Bodies, paths and types at and beyond the limits of the description. The worker may take or refuse them, and must not fail. */
export const extremes: Group = {
  name: "extremes",
  async prepare(stage) {
    const { target } = stage;
    const description: Description = JSON.parse((await target.send("GET", "/openapi.json")).text);
    const routes = routesOf(description);
    const withBody = routes.filter(({ schema }) => schema);
    for (const [i, config] of CONFIGS.entries()) await target.createModel(`extreme-${i}`, config);
    const [id] = await target.recommend("extreme-0", { keys: ["visitor-7"] });
    const now = Date.now();
    const known = {
      ...{ impressionId: id, impression: id, id: "mug", action: "mug", defaultAction: "mug", key: "visitor-7", model: "extreme-0" },
      ...{ timestamp: now, shownAt: now, at: now, goal: "conversion", window: { ms: HOUR_MS }, reward: 1 },
    };
    const ground = { schemas: description.components.schemas, known };
    const healthy = await target.createModel("extreme-healthy");

    const attempts = stage.repeated(2400, async (index) => {
      // Most requests have a body.
      const route = stage.pick(stage.below(10) > 0 ? withBody : routes);
      const name = stage.below(15) === 0 ? stage.pick(PATHS) : `extreme-${stage.below(MODELS)}`;
      const path = filled(route.path, {
        sender: "stripe",
        model: name,
        id: stage.below(4) === 0 ? stage.pick(PATHS) : id,
        key: stage.pick(["visitor-7", ...PATHS]),
      });
      const query =
        route.path.endsWith("/events") && stage.below(2) === 0 ? `?after=${stage.pick(["-1", "1e9", "9".repeat(40), "", "%00"])}` : "";
      const body = route.schema ? bodyOf(route, ground, stage) : undefined;
      const answer = await sent(stage, route, `${path}${query}`, body);
      const what = typeof body === "string" ? body.slice(0, MOST_SENT) : body && `${body.length} bytes`;
      stage.check(`${index}: ${route.method} ${path}${query} ${what ?? ""}`, soundness(answer));
      if (route.method === "PUT" && answer.status < 300) {
        // An odd configuration that the worker takes must serve.
        const asked = await target.send("POST", `/v1/models/${name}/recommendations`, { key: target.secretKey, json: {} });
        stage.check(`a recommendation of ${name} after ${index}: ${route.method} ${path} ${what}`, soundness(asked));
      }
    });
    return [
      ...attempts,
      async () => {
        const answer = await target.send("POST", `/v1/models/${healthy}/recommendations`, { key: target.secretKey, json: {} });
        stage.check("a recommendation after all of these", success(answer, 201));
      },
      async () => {
        const answer = await target.send("GET", "/v1/models", { key: target.secretKey });
        stage.check("the list of models after all of these", answer.status === 200 ? soundness(answer) : shown(answer));
      },
    ];
  },
};

function bodyOf({ media, schema, examples }: Route, ground: Ground, stage: Stage): string | Uint8Array<ArrayBuffer> {
  const lines = media === "application/x-ndjson";
  const inner = (schema?.contentSchema as typeof schema) ?? schema ?? {};
  let value = examples.length > 0 && stage.below(2) === 0 ? stage.pick(examples) : grown(inner, ground, stage);
  const bends = stage.pick([0, 0, 1, 1, 2]);
  for (let n = 0; n < bends; n++) value = bent(value, stage);
  const text = lines && Array.isArray(value) ? value.map((line) => JSON.stringify(line)).join("\n") : (JSON.stringify(value) ?? "");
  return stage.below(8) === 0 ? brokenText(text, stage) : text;
}

function sent(stage: Stage, { method, path: template, keys }: Route, path: string, body: string | Uint8Array<ArrayBuffer> | undefined) {
  const { target } = stage;
  const type: Record<string, string> = stage.below(12) === 0 ? { "content-type": stage.pick(CONTENT_TYPES) } : {};
  if (template === "/v1/conversions") {
    const headers = { ...target.signature(target.webhookId(), Buffer.from(body ?? "").toString()), ...type };
    return target.send(method, path, { headers, body });
  }
  const key = keys.includes("publishableKey") && stage.below(2) === 0 ? target.publishableKey : target.secretKey;
  return target.send(method, path, { key, headers: type, body });
}
