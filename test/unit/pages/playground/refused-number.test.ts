import { Recommender } from "afterclick";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { contenders } from "../../../../pages/playground/contender.ts";
import type { ProblemId } from "../../../../pages/playground/problem.ts";
import { defaults, type Settings, sharesInTime } from "../../../../pages/playground/settings.ts";
import { drawn } from "../../../support/markup.ts";

type Component = (props: object) => unknown;
interface Node {
  readonly tag: string | Component;
  readonly key?: string;
  readonly props: { readonly children?: unknown; readonly [name: string]: unknown };
}

/** The keys above each number field of a form, by the field's name. */
function keysOf(node: unknown, above: readonly string[] = []): [name: string, keys: string][] {
  if (Array.isArray(node)) return node.flatMap((each) => keysOf(each, above));
  if (node === null || typeof node !== "object" || !("tag" in node)) return [];
  const { tag, key, props } = node as Node;
  const keys = key === undefined ? above : [...above, key];
  if (props.type === "number") return [[String(props.name), keys.join()]];
  return keysOf(typeof tag === "function" ? tag(props) : props.children, keys);
}

let Form: (props: { settings: Settings; change: () => void }) => unknown;
beforeAll(async () => {
  vi.stubGlobal("matchMedia", () => ({ matches: true, addEventListener() {} }));
  ({ Form } = await import("../../../../pages/playground/client/form.tsx"));
  return () => void vi.unstubAllGlobals();
});

const formOf = (settings: Settings) => ({ settings, change() {} });
const said = (more: Partial<Settings>) => drawn(Form, formOf({ ...defaults.curve, ...more })).text;

describe("the number fields", () => {
  it("are made anew for another problem, so that no refused text stays", () => {
    const [linear, curve] = [defaults.linear, defaults.curve].map((settings) => Object.fromEntries(keysOf(Form(formOf(settings)))));
    expect(Object.keys(linear)).toEqual(["typical", "window", "rounds", "seed"]);
    for (const [name, keys] of Object.entries(linear)) expect(curve[name], name).not.toBe(keys);
  });

  it("are not invalid at first", () => {
    const { elements } = drawn(Form, formOf(defaults.linear));
    const fields = elements.filter(({ props }) => props.type === "number");
    expect(fields.map(({ props }) => props["aria-invalid"])).toEqual(Array(4).fill("false"));
  });
});

describe("the share of delays inside the window", () => {
  // Uniform delays with a mean of 1 round: 0, 1 or 2 rounds.
  const short = { delay: "uniform", typical: 1, window: 1 } as const;

  it("is that of the chosen policies, or a range if they differ", () => {
    expect(said({ ...short, policies: ["bpe", "uniform"] })).toContain("66.6 % of delays end inside the window. Later");
    expect(said({ ...short, policies: ["gp-ucb-sdf", "waiting"] })).toContain("33.3 % of delays end inside the window. Later");
    const range = "33.3 to 66.6 % of delays end inside the window, by policy. Later outcomes do not count.";
    expect(said({ ...short, policies: ["gp-ucb-sdf", "uniform"] })).toContain(range);
    expect(sharesInTime({ ...defaults.linear, ...short })).toEqual([2 / 3, 2 / 3]);
  });

  it.each(Object.keys(contenders) as ProblemId[])("uses the delay offset of every policy of %s", async (problem) => {
    for (const [id, { policy, delayOffset = 0 }] of Object.entries(contenders[problem])) {
      const recommender = await Recommender.create({ policy: policy({ horizon: 100, delay: 5 }), window: { rounds: 9 }, seed: 1 });
      expect(delayOffset, id).toBe(recommender.policy.delayOffset);
    }
  });
});
