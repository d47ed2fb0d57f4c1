import type { Points } from "afterclick/research";
import fc from "fast-check";
import { expect, it } from "vitest";
import { Catalogue } from "../../../worker/domain/catalogue/catalogue.ts";
import { type Restrictions, restricted } from "../../../worker/domain/decision/offer.ts";
import type { Served } from "../../../worker/domain/decision/served.ts";
import { configureModel, featurizer, startModel } from "../../../worker/domain/model/model.ts";
import type { Action, Condition } from "../../../worker/protocol/schema.ts";
import { matrixOf } from "../../support/reference/matrix.ts";

// The offer of a request against the rules as they are documented, action by action.

const BRANDS = ["Acme", "Umbra", "Initech"];
const SIZES = ["s", "m", "l"];
const IDS = Array.from({ length: 24 }, (_, i) => `action ${i}`);

const brand = fc.constantFrom(...BRANDS);
const price = fc.integer({ min: 0, max: 6 });
const optional = <Fields extends Record<string, fc.Arbitrary<unknown>>>(fields: Fields) => fc.record(fields, { requiredKeys: [] });
const features = optional({ brand, price });
const attributes = optional({ brand, price, sale: fc.boolean(), sizes: fc.subarray(SIZES) });
const fields = optional({ features, attributes, available: fc.boolean() });

/** Has every attribute, so that a request may name each of them. */
const WHOLE = { id: "whole", attributes: { brand: "Acme", price: 1, sale: true, sizes: SIZES } };
const catalogues = fc.array(fields, { minLength: 4, maxLength: 20 }).map((all) => {
  return new Catalogue([WHOLE, ...all.map((each, i) => ({ id: IDS[i], ...each }))] as Action[]);
});

const range = optional({ min: price, max: price });
const filter = optional({
  brand: fc.oneof(brand, fc.subarray(BRANDS, { minLength: 1 })),
  price: fc.oneof(price, range),
  sale: fc.boolean(),
  sizes: fc.oneof(fc.constantFrom(...SIZES), fc.subarray(SIZES, { minLength: 1 })),
});
const place = fc.nat({ max: 19 });
const requests = fc.record({
  limit: fc.integer({ min: 1, max: 6 }),
  filter: fc.option(filter, { nil: undefined }),
  excluded: fc.uniqueArray(place, { maxLength: 3 }),
  named: fc.option(fc.uniqueArray(fc.record({ place, own: fc.option(fc.record({ brand, price })) }), { selector: (each) => each.place }), {
    nil: undefined,
  }),
  pinned: fc.uniqueArray(fc.record({ action: place, place: fc.nat({ max: 5 }) }), { maxLength: 3, selector: (each) => each.place }),
  boost: fc.option(fc.array(fc.record({ filter, by: fc.integer({ min: -3, max: 3 }) }), { minLength: 1, maxLength: 3 }), {
    nil: undefined,
  }),
  maxPer: fc.option(fc.record({ attribute: fc.constantFrom("brand", "price"), count: fc.integer({ min: 1, max: 3 }) }), { nil: undefined }),
});
type Drawn = typeof requests extends fc.Arbitrary<infer Value> ? Value : never;

/** A request that the catalogue allows. */
function requestOf(catalogue: Catalogue, { named, excluded, pinned, filter, maxPer, boost, limit }: Drawn): Restrictions {
  const idAt = (n: number): string => catalogue.actions[n % catalogue.size].id;
  const actions = named?.map(({ place, own }) => ({ id: idAt(place), ...(own && { features: own }) }));
  const distinct = actions?.filter(({ id }, i) => actions.findIndex((other) => other.id === id) === i);
  const exclude = Array.from(new Set(excluded.map(idAt)));
  const pins = pinned.map(({ action, place }) => ({ action: idAt(action), place })).filter((each) => each.place < limit);
  const pin = pins.filter(({ action }, i) => !exclude.includes(action) && pins.findIndex((other) => other.action === action) === i);
  return {
    ...{ limit, exclude, pin, filter, maxPer, boost, context: { country: "PT" } },
    ...(distinct && distinct.length > 0 && { actions: distinct }),
  } as Restrictions;
}

function valuesOf({ attributes = {}, features = {} }: Action, name: string): unknown[] {
  return [{ ...features, ...attributes }[name as never] ?? []].flat();
}

function meets(value: unknown, condition: Condition): boolean {
  if (Array.isArray(condition)) return condition.some((each) => each === value);
  if (typeof condition !== "object") return value === condition;
  const { min, max } = condition as { min?: number; max?: number };
  return (min === undefined || (value as number) >= min) && (max === undefined || (value as number) <= max);
}

/** The candidates, the pins and the room of each family. */
function expected(catalogue: Catalogue, { actions, exclude, filter = {}, pin = [], maxPer, boost = [] }: Restrictions) {
  const inCatalogue = (id: string) => catalogue.actions.find((action) => action.id === id) as Action;
  const isServed = ({ id }: Action) => inCatalogue(id).available !== false;
  const whole = (action: Action) => (action.features ? action : inCatalogue(action.id));
  const pins = pin.map(({ action: id, place }) => ({ place, action: whole(actions?.find((each) => each.id === id) ?? { id }) }));
  const servedPins = pins.filter(({ action }) => isServed(action));
  const isPinned = ({ id }: Action) => servedPins.some(({ action }) => action.id === id);
  const passes = (action: Action, conditions: object): boolean =>
    Object.entries(conditions).every(([name, condition]) => valuesOf(action, name).some((value) => meets(value, condition)));
  const all = (actions?.map(whole) ?? catalogue.actions).filter((action) => {
    return isServed(action) && !exclude.includes(action.id) && !isPinned(action) && passes(action, filter);
  });
  const familyOf = (action: Action) => (maxPer ? valuesOf(action, maxPer.attribute)[0] : undefined);
  const room = (family: unknown): number => {
    if (!maxPer || family === undefined) return Number.POSITIVE_INFINITY;
    return maxPer.count - servedPins.filter(({ action }) => familyOf(action) === family).length;
  };
  const boostOf = (action: Action) => boost.reduce((sum, { filter, by }) => sum + (passes(action, filter) ? by : 0), 0);
  return { pins: servedPins, candidates: all.filter((action) => room(familyOf(action)) > 0), familyOf, room, boostOf };
}

const body = { window: { ms: 3_600_000 }, serving: "edge" as const, encoder: { dimension: 16, numeric: { price: { min: 0, max: 6 } } } };
const config = { ...(await configureModel(body)), defaultAction: "whole" };
const policies = await startModel(config);
const served = (catalogue: Catalogue): Served => ({ config, catalogue, policies, featurize: featurizer(config), version: 1 });

it("has the candidates that every restriction leaves, the pins that are available, and their features", () => {
  fc.assert(
    fc.property(catalogues, requests, (catalogue, drawn) => {
      const request = requestOf(catalogue, drawn);
      const { pins, candidates, familyOf, room, boostOf } = expected(catalogue, request);
      const offer = restricted(served(catalogue), request);
      const { vector } = featurizer(config);
      const vectors = (actions: readonly Action[]) => actions.flatMap((action) => Array.from(vector(request.context, action)));
      const given = Array.from(offer.pinned, ([place, { action, features }]) => ({ place, action, features: Array.from(features) }));
      expect(given).toEqual(pins.map(({ place, action }) => ({ place, action, features: vectors([action]) })));
      const isDefault = candidates.length + pins.length === 0;
      expect(offer.arm).toBe(isDefault ? "default" : "policy");
      const actions = isDefault ? [WHOLE] : candidates;
      expect(offer.actions).toEqual(actions);
      const boosted = request.boost && !isDefault && candidates.length > 0;
      expect(offer.boosts).toEqual(boosted ? Float64Array.from(candidates, boostOf) : undefined);
      expect(Array.from(matrixOf(offer.points as Points))).toEqual(vectors(actions));
      expect(offer.families === undefined).toBe(request.maxPer === undefined || candidates.length === 0);
      if (!offer.families) return;
      // Candidates in their order, each as long as its family has room.
      const taken = new Map<unknown, number>();
      const list = candidates.flatMap((action, i) => {
        const family = familyOf(action);
        const before = taken.get(family) ?? 0;
        if (before >= room(family)) return [];
        taken.set(family, before + 1);
        return [i];
      });
      const falling = Float64Array.from(candidates, (_, i) => -i);
      expect(offer.families.best(falling, candidates.length)).toEqual(list);
    }),
    { numRuns: 300 },
  );
});

it("an attribute without any value has no type, and no action meets a condition on it", () => {
  const catalogue = new Catalogue([{ id: "plain", attributes: { sizes: [] } }] as Action[]);
  for (const condition of ["s", 1, true, { min: 1 }])
    expect(catalogue.candidates({ exclude: [], filter: { sizes: condition } }).actions).toEqual([]);
});
