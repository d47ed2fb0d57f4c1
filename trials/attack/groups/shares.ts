// Tries to use up, from one address, what all pages share.

import { setTimeout as sleep } from "node:timers/promises";
import { refusal, statusVerdict, success, unchanged } from "../judge.ts";
import type { Attempt, Group } from "../stage.ts";

const ITEMS = 20;
/** More items than two minutes give one address, of 6,000 a minute for all. */
const LISTS = 70;
const ITEMS_OF_REPORT = 100;
const OTHERS = 20;
const DEFERRED = 40;
/** By then an isolate has registered what it has shown. */
const REGISTERED_MS = 1000;
const DAY_MS = 86_400_000;
const goals = { click: { weight: 1, public: true } };

/** One address of a page that takes all that it can of the limits which all pages share. */
export const shares: Group = {
  name: "shares",
  async prepare(stage) {
    const { target } = stage;
    const key = target.publishableKey;
    const from = (address: string) => ({ headers: { "cf-connecting-ip": address } });
    const ask = (model: string, json: object, address = target.address()) => {
      return target.send("POST", `/v1/models/${model}/recommendations`, { key, json, ...from(address) });
    };
    const report = (json: object, address = target.address()) =>
      target.send("POST", "/v1/shown", { json: { key, ...json }, ...from(address) });
    const idsIn = (text: string) => Array.from(text.matchAll(/"impressionId":"([\w-]+)"/g), ([, id]) => id);
    const clicks = (ids: readonly string[]) => ({ reached: ids.map((impressionId) => ({ impressionId, goal: "click" })) });
    const shop = async (name: string, config: object = {}) => {
      const model = await target.createModel(name, { serving: "edge", goals, window: { ms: 7 * DAY_MS }, ...config });
      const actions = Array.from({ length: ITEMS }, (_, n) => ({ id: `action-${n}` }));
      await target.send("PUT", `/v1/models/${model}/actions`, { key: target.secretKey, json: actions });
      return model;
    };
    const [clicked, deferring] = [
      await shop("shares"),
      await shop("shares-deferred", { limits: { deferred: DEFERRED, bytes: 8_000_000 } }),
    ];

    /** It reports a click for each item of its lists; others report one meanwhile. */
    const flood: Attempt = async () => {
      const address = target.address();
      const ids: string[] = [];
      for (let n = 0; n < LISTS; n++) ids.push(...idsIn((await ask(clicked, { limit: ITEMS }, address)).text));
      const statuses: number[] = [];
      while (ids.length > 0) statuses.push((await report(clicks(ids.splice(0, ITEMS_OF_REPORT)), address)).status);
      stage.check(`${statuses.length} reports of one address`, statuses.includes(429) ? null : `expected 429, got ${statuses}`);
      const others: string[] = [];
      for (let n = 0; n < OTHERS; n++) others.push(...idsIn((await ask(clicked, {})).text));
      await sleep(REGISTERED_MS);
      for (const id of others) stage.check("a click of another address", statusVerdict(await report(clicks([id])), "applied"));
      const { incidents } = await target.stateOf(clicked);
      stage.check("the incident of the owner", incidents.overShare > 0 ? null : `expected overShare above 0, got ${incidents.overShare}`);
    };
    /** It defers lists until the learner refuses them, and reports all of them as shown and clicked. */
    const refused: Attempt = async () => {
      const address = target.address();
      const ids: string[] = [];
      for (let n = 0; n < LISTS; n++) ids.push(...idsIn((await ask(deferring, { limit: ITEMS, defer: true }, address)).text));
      let waiting = 0;
      for (let i = 0; i < ids.length; i += ITEMS) {
        const some = ids.slice(i, i + ITEMS);
        const { text } = await report({ seen: some, ...clicks(some) }, address);
        waiting += text.match(/"(orphan|accepted)"/g)?.length ?? 0;
      }
      const verdict = waiting <= DEFERRED / 2 ? null : `expected at most ${DEFERRED / 2} that wait, got ${waiting}`;
      stage.check(`${ids.length} reports of refused impressions`, verdict);
      const before = await target.stateOf(deferring);
      await target.recommend(deferring, { limit: ITEMS });
      await sleep(REGISTERED_MS);
      const after = await target.stateOf(deferring);
      stage.check("the shop's own impressions", unchanged(before.counts.impressions + ITEMS, after.counts.impressions));
    };
    const places: Attempt = async () => {
      const model = await shop("shares-places", { serving: "learner", limits: { deferred: 1000 } });
      const address = target.address();
      for (let n = 0; n < 10; n++) await ask(model, { limit: ITEMS, defer: true }, address);
      stage.check("deferred lists of one address", refusal(await ask(model, { limit: ITEMS, defer: true }, address), 429));
      stage.check("a deferred list of another address", success(await ask(model, { limit: ITEMS, defer: true }), 201));
    };
    return [flood, refused, places];
  },
};
