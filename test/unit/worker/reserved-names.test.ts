import { encoder } from "afterclick";
import { expect, it } from "vitest";
import { impressionsBody } from "../../../worker/edge/routes/impressions.ts";
import { actionsBody } from "../../../worker/edge/routes/models/actions.ts";
import { modelBody, recommendationsBody } from "../../../worker/protocol/schema.ts";
import { parsed } from "../../../worker/protocol/validation.ts";

// An object has these names already. A worker that dropped them would learn from other features than the SDK.
const names = ["constructor", "prototype", "__proto__"];
const of = (name: string, value: unknown): Record<string, never> => JSON.parse(`{"${name}":${JSON.stringify(value)}}`);

it.each(names)("the SDK refuses a feature with the name %s", (name) => {
  const { encode, among } = encoder({ dimension: 8, interactions: "all" });
  expect(() => encode({ context: of(name, "x") })).toThrow(`context.${name}: expected a name other than constructor, prototype, __proto__`);
  expect(() => among([of(name, ["x"])])).toThrow(`action.${name}`);
});

it.each(names)("the worker refuses the name %s wherever a caller chooses names", (name) => {
  const bodies = [
    ["context", () => parsed(recommendationsBody, { context: of(name, "x") })],
    ["actions.0.features", () => parsed(recommendationsBody, { actions: [{ id: "a", features: of(name, "x") }] })],
    ["0.features", () => parsed(actionsBody, [{ id: "a", features: of(name, "x") }])],
    ["0.context", () => parsed(impressionsBody, [{ action: "a", shownAt: 1, context: of(name, "x") }])],
    ["goals", () => parsed(modelBody, { window: { ms: 1 }, goals: of(name, { weight: 1 }) })],
    ["options", () => parsed(modelBody, { window: { ms: 1 }, options: of(name, 1) })],
  ] as const;
  for (const [path, read] of bodies) {
    let refusal: unknown;
    try {
      read();
    } catch (error) {
      refusal = error;
    }
    expect(refusal, path).toMatchObject({
      status: 422,
      errors: [{ path, message: "expected names other than constructor, prototype, __proto__" }],
    });
  }
});
