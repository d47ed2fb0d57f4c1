import fc from "fast-check";
import { expect, it } from "vitest";
import { Catalogue } from "../../../worker/domain/catalogue/catalogue.ts";
import { type Seen, withLeftOut } from "../../../worker/domain/decision/left-out.ts";
import { freeCandidates } from "../../../worker/domain/decision/offer.ts";
import type { Served } from "../../../worker/domain/decision/served.ts";
import { uuidAt } from "../../../worker/domain/ids/uuid.ts";
import { configureModel, featurizer, startModel } from "../../../worker/domain/model/model.ts";
import { MOST_LEFT_OUT } from "../../../worker/protocol/most.ts";

// The candidates that a visitor's list leaves out, against the rule as it is documented.

const NOW = 1_800_000_000_000;
const IDS = Array.from({ length: 8 }, (_, i) => `action ${i}`);
const catalogue = new Catalogue(IDS.map((id, i) => ({ id, features: { brand: `brand ${i % 2}` } })));
const config = await configureModel({ window: { ms: 3_600_000 }, encoder: { dimension: 16 } });
const policies = await startModel(config);

const action = fc.constantFrom(...IDS, "gone");
const impressions = fc.array(fc.record({ action, age: fc.nat({ max: 20 }), bought: fc.boolean(), twice: fc.boolean() }), { maxLength: 25 });
const rules = fc.record(
  {
    bought: fc.boolean(),
    shown: fc.record({ times: fc.integer({ min: 1, max: 3 }), within: fc.record({ ms: fc.integer({ min: 1, max: 20 }) }) }),
  },
  { requiredKeys: [] },
);
const requests = fc.record({
  exclude: fc.uniqueArray(fc.constantFrom(...IDS.slice(4)), { maxLength: 3 }),
  pin: fc.option(
    fc.constantFrom(...IDS.slice(0, 4)).map((action) => [{ action, place: 0 }]),
    { nil: undefined },
  ),
  filter: fc.option(fc.constant({ brand: "brand 0" }), { nil: undefined }),
});

const served = (leaveOut: Served["config"]["leaveOut"], actions = catalogue): Served => {
  return { config: { ...config, leaveOut }, catalogue: actions, policies, featurize: featurizer(config), version: 1 };
};

it("leaves out what was bought, and what was shown so often in time, but never all candidates, and no pin", () => {
  fc.assert(
    fc.property(rules, impressions, requests, (rule, drawn, rest) => {
      const seen = drawn.flatMap(({ action, age, bought, twice }, i): Seen[] => {
        const impression = uuidAt(
          NOW - age,
          Uint8Array.from({ length: 10 }, () => i),
        );
        return [{ impression, action, bought }, ...(twice ? [{ impression, action, bought: false }] : [])];
      });
      const request = { ...rest, limit: 3 };
      const isBought = (id: string) => rule.bought === true && drawn.some(({ action, bought }) => bought && action === id);
      const isOften = (id: string) => {
        const { shown } = rule;
        return shown !== undefined && drawn.filter(({ action, age }) => action === id && age < shown.within.ms).length >= shown.times;
      };
      const all = freeCandidates(catalogue, request).candidates.actions.map(({ id }) => id);
      const [both, bought] = [all.filter((id) => isBought(id) || isOften(id)), all.filter(isBought)];
      const expected = [both, bought, []].find((each) => each.length < all.length) ?? [];
      const { leftOut = [], ...same } = withLeftOut(served(rule), request, seen, NOW);
      expect(leftOut.toSorted()).toEqual(expected);
      expect(same).toEqual(request);
      const { candidates, pins } = freeCandidates(catalogue, { ...request, leftOut });
      expect(candidates.actions.map(({ id }) => id)).toEqual(all.filter((id) => !expected.includes(id)));
      expect(pins).toEqual(freeCandidates(catalogue, request).pins);
    }),
    { numRuns: 500 },
  );
});

it("leaves out the newest purchases first, where there are too many", () => {
  const ids = Array.from({ length: MOST_LEFT_OUT + 2 }, (_, i) => `action ${i}`);
  const many = new Catalogue(ids.map((id) => ({ id })));
  const seen = ids.map((action, i) => ({ impression: uuidAt(NOW - i, new Uint8Array(10)), action, bought: i > 0 }));
  const rule = { bought: true, shown: { times: 1, within: { ms: 1000 } } };
  const { leftOut } = withLeftOut(served(rule, many), { exclude: [], limit: 1 }, seen, NOW);
  expect(leftOut).toEqual(ids.slice(1, MOST_LEFT_OUT + 1));
});
