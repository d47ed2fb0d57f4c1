// Tries what a page must not do, with the key that every page shows.

import { slowing } from "../flood.ts";
import { refusal, soundness, statusVerdict, success, unchanged } from "../judge.ts";
import type { Attempt, Group } from "../stage.ts";
import { HOUR_MS } from "../target.ts";

const PAGE_BYTES = 128 * 1024;
/** Requests with 100 items each: more than a learner takes from pages in a minute. */
const REPETITIONS = 65;

/** Attempts of everybody who has read a page's publishable key. */
export const pageRights: Group = {
  name: "page rights",
  async prepare(stage) {
    const { target } = stage;
    const key = target.publishableKey;
    const model = await target.createModel("pages", { local: true, options: { dimension: 4 } });
    const plain = await target.createModel("pages-not-local");
    const features = (id: string, at: number) => ({ id, features: [0, 1, 2, 3].map((i) => Number(i === at)) });
    await target.send("PUT", `/v1/models/${model}/actions`, { key: target.secretKey, json: [features("mug", 0), features("tent", 1)] });
    const [given] = await target.recommend(model, { actions: [{ id: "mug" }] });
    const before = await target.stateOf(model);
    const ask = (json: object, at = model) => target.send("POST", `/v1/models/${at}/recommendations`, { key, json });
    const register = (json: object, at = model) => target.send("POST", `/v1/models/${at}/impressions`, { key, json });
    const item = (fields: object = {}) => ({ action: "mug", shownAt: Date.now(), ...fields });

    const foreign = stage.repeated(60, async () => {
      const vector = Array.from({ length: 4 }, () => stage.pick([0, 1, -1, 0.5, 1e6, -1e6, 5e-324, 1e308]));
      const action = stage.pick<object>([
        { id: "x", features: vector },
        { id: "mug", features: vector },
        { id: "mug ", features: vector },
        { id: "no-such-action" },
        { id: "MUG" },
        { id: "constructor" },
      ]);
      const send = stage.pick([() => ask({ actions: [{ id: "tent" }, action] }), () => register([item({ action })])]);
      stage.check(`a page with the action ${JSON.stringify(action)}`, refusal(await send(), 422));
    });
    const impressions: Record<string, object> = {
      "a probability near 0": { probability: 5e-324 },
      "a probability of 0": { probability: 0 },
      "a probability over 1": { probability: 1.5 },
      "an unknown action": { action: "no-such-action" },
    };
    const long = Array.from({ length: 40 }, (_, i) => `${i}`.padEnd(120, "x"));
    const refusals = [
      ...foreign,
      ...Object.entries(impressions).map(([what, fields]) =>
        stage.refused(`an impression of a page with ${what}`, () => register([item(fields)]), 422),
      ),
      stage.refused("a page's impression with an id that the worker gave", () => register([item({ id: given })]), 409),
      stage.refused("101 impressions of a page", () => register(Array.from({ length: 101 }, () => item())), 413),
      stage.refused("a body of a page over its limit", () => ask({ context: { a: "x".repeat(PAGE_BYTES) } }), 413),
      stage.refused("21 items for a page", () => ask({ limit: 21 }), 422),
      stage.refused("a page's restrictions of 5 kB", () => ask({ exclude: long }), 413),
      stage.refused("half of a surrogate pair as a page's key", () => ask({ keys: ["\ud800"] }), 422),
      stage.refused("a page's impression of two days ago", () => register([item({ shownAt: Date.now() - 48 * HOUR_MS })]), 422),
      stage.refused("a page's impression in a model that is not local", () => register([item()], plain), 403, 404),
      stage.refused("a published model that is not local", () => target.send("GET", `/v1/models/${plain}/published`, { key }), 404),
      ...["no-such-model", "toString", "valueOf"].map((name) => stage.refused(`a page and the model ${name}`, () => ask({}, name), 404)),
      stage.unchanged({ ...before, incidents: 0 }, async () => ({ ...(await target.stateOf(model)), incidents: 0 })),
    ];

    /** The page asks with the order number that the shop will report. */
    const takeover = stage.repeated(10, async (index) => {
      const order = `order-${index}`;
      const guessed = await ask({ keys: [order] });
      stage.check(`a page with the key ${order}`, success(guessed, 201));
      const sold = await target.convert({ model, key: order, reward: 1 });
      stage.check(`a sale of ${order}, which only a page has named`, statusVerdict(sold, "orphan"));
      const [own] = await target.recommend(model, { keys: [`shop-${order}`] });
      await ask({ keys: [`shop-${order}`] });
      const shop = await target.convert({ model, key: `shop-${order}`, reward: 1 });
      stage.check(`a sale of shop-${order}, which the shop and then a page has named`, statusVerdict(shop, "applied"));
      const { text } = await target.send("GET", `/v1/impressions/${own}`, { key: target.secretKey });
      stage.check(`the shop's impression of shop-${order}`, /"status":"converted"/.test(text) ? null : `expected converted, got ${text}`);
    });
    /** The page takes an id that the backend uses afterwards. */
    const collision = stage.repeated(10, async (index) => {
      const shown = item({ id: `shown-${index}` });
      const status = (text: string) => /"status":"(\w+)"/.exec(text)?.[1];
      const byPage = status((await register([shown])).text);
      const byShop = status((await target.send("POST", `/v1/models/${model}/impressions`, { key: target.secretKey, json: [shown] })).text);
      stage.check(`the id shown-${index} of a page, then of the shop`, unchanged(["registered", "registered"], [byPage, byShop]));
      const other = await register([{ ...shown, action: "tent" }]);
      stage.check(`the id shown-${index} of a page again, with another action`, refusal(other, 409));
    });
    /** A page repeats what counts once, or what is refused, and another page reports meanwhile. */
    const silencing = ["click", "purchase"].map(
      (goal): Attempt =>
        async () => {
          const shop = await target.createModel(`silenced-${goal}`, {
            goals: { click: { weight: 1, public: true }, purchase: { weight: 1 } },
          });
          const [own, other] = await target.recommend(shop, { limit: 2 });
          const report = (json: object) => target.send("POST", "/v1/shown", { json: { key, ...json } });
          const reached = Array.from({ length: 100 }, () => ({ impressionId: own, goal }));
          for (let n = 0; n < REPETITIONS; n++) stage.check(`${goal} reported again by a page`, soundness(await report({ reached })));
          const honest = await report({ reached: [{ impressionId: other, goal: "click" }] });
          stage.check(`a click beside a page that repeats ${goal}`, statusVerdict(honest, "applied"));
        },
    );
    const flood: Attempt = async () => {
      const headers = { "cf-connecting-ip": target.address() };
      const read = () => target.send("GET", `/v1/models/${model}/published`, { key, headers });
      stage.check("requests of a page from one address", await slowing(read));
    };
    return [...refusals, ...takeover, ...collision, ...silencing, flood];
  },
};
