import * as v from "valibot";
import { expect, it } from "vitest";
import { Catalogue } from "../../../worker/domain/catalogue/catalogue.ts";
import { decide } from "../../../worker/domain/decision/decision.ts";
import { NO_KEYS } from "../../../worker/domain/ids/join-key.ts";
import { configureModel, featurizer, startModel } from "../../../worker/domain/model/model.ts";
import { recommendationsBody } from "../../../worker/protocol/schema.ts";
import { served, worstRequest } from "../../property/worker/worst-request.ts";

const ROUNDS = 100;

it.each(served)("a request with a publishable key takes 50 ms of processor time: %s", (_, model) => {
  const { ms, what } = worstRequest(model, ROUNDS, "ms");
  expect(ms, what).toBeLessThan(50);
});

/** Families of 1, 2, 3 and more products: as many kinds as there can be. */
const families = Array.from({ length: 140 }, (_, family) => Array<string>(family + 1).fill(`brand ${family}`)).flat();
const actions = families.map((brand, i) => ({ id: `${i}`, features: { brand } }));

async function medianMs(options: object, request: object): Promise<number> {
  const config = await configureModel({ window: { ms: 3_600_000 }, ...options });
  const policies = await startModel(config);
  const model = { config, policies, version: 1, featurize: featurizer(config), catalogue: new Catalogue(actions) };
  const body = { ...v.parse(recommendationsBody, { limit: 20, context: { country: "PT" }, ...request }), byPage: true };
  const times = Array.from({ length: 21 }, () => {
    const before = process.cpuUsage();
    decide(model, body, NO_KEYS, Date.now());
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000;
  });
  return times.sort((a, b) => a - b)[10];
}

it("a decision among 9,870 products takes 4 ms, and with a minimum share, a holdout and bounded families 25", async () => {
  expect(await medianMs({}, {})).toBeLessThan(4);
  expect(await medianMs({ minimumShare: 0.1, holdout: 0.1 }, { maxPer: { attribute: "brand", count: 3 } })).toBeLessThan(25);
});
