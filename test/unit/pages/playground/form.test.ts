import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { contenders } from "../../../../pages/playground/contender.ts";
import { delays } from "../../../../pages/playground/delay.ts";
import { defaults, type Settings } from "../../../../pages/playground/settings.ts";
import { drawn } from "../../../support/markup.ts";

const screen = { matches: true };
let Form: typeof import("../../../../pages/playground/client/form.tsx").Form;
beforeAll(async () => {
  // The module asks for the screen's width when it is loaded.
  vi.resetModules();
  vi.stubGlobal("matchMedia", () => screen);
  ({ Form } = await import("../../../../pages/playground/client/form.tsx"));
});
afterAll(() => void vi.unstubAllGlobals());

/** The form of these settings. `press` calls a field's handler and returns the settings of the next match. */
function form(more: Partial<Settings> = {}, problem: "linear" | "curve" = "linear") {
  const settings: Settings = { ...defaults[problem], ...more };
  const change = vi.fn<(settings: Settings) => void>();
  const { elements, text } = drawn(Form, { settings, change });
  const fields = (name: string) => elements.flatMap(({ props }) => (props.name === name ? [props] : []));
  const press = (field: { readonly [name: string]: unknown }, event?: unknown) => {
    change.mockClear();
    (field.onChange as (event: unknown) => void)(event);
    return change.mock.calls.map(([next]) => next);
  };
  return { settings, change, elements, text, fields, press };
}

describe("the form", () => {
  it("names the problem and counts the policies, so that a folded form says what is played", () => {
    expect(form().text).toMatch(/^Settings: a shelf, 4 policies /);
    expect(form({ policies: ["gp-ucb"] }, "curve").text).toMatch(/^Settings: a dial, 1 policies /);
  });

  it("is open on a wide screen alone", () => {
    const isOpen = () => form().elements.find(({ tag }) => tag === "details")?.props.open;
    expect(isOpen()).toBe(true);
    screen.matches = false;
    expect(isOpen()).toBe(false);
    screen.matches = true;
  });

  it("leaves the page where it is when it is submitted", () => {
    const [{ props }] = form().elements.filter(({ tag }) => tag === "form");
    const event = { preventDefault: vi.fn() };
    (props.onSubmit as (event: unknown) => void)(event);
    expect([props["aria-label"], event.preventDefault.mock.calls.length]).toEqual(["Settings", 1]);
  });
});

describe("the choice of the problem", () => {
  it("shows the present one, and says what it is", () => {
    const { fields, text } = form({}, "curve");
    expect(fields("problem").map(({ value, checked }) => [value, checked])).toEqual([
      ["linear", false],
      ["curve", true],
    ]);
    expect(text).toContain("Problem A shelf A dial Fifty-one settings of one dial.");
  });

  it("plays the other one with its own settings, from the same seed and at the same pace", () => {
    const { fields, press } = form({ seed: 77, pace: "slow", window: 9, rounds: 50 });
    expect(press(fields("problem")[1])).toEqual([{ ...defaults.curve, seed: 77, pace: "slow" }]);
  });
});

describe("the choice of policies", () => {
  it.each(["linear", "curve"] as const)("of %s has all of them, each with its name and its note", (problem) => {
    const { fields, text } = form({}, problem);
    expect(fields("policies").map(({ value }) => value)).toEqual(Object.keys(contenders[problem]));
    for (const { name, note } of Object.values(contenders[problem])) expect(text).toContain(`${name} ${note}`);
  });

  it("shows which are played, with the mark of their line", () => {
    const { fields, elements } = form({ policies: ["uniform", "delay-lin-ts"] });
    const checked = fields("policies").flatMap((field) => (field.checked ? [field.value] : []));
    expect(checked).toEqual(["delay-lin-ts", "uniform"]);
    expect(elements.flatMap(({ tag, props }) => (tag === "i" ? [props.class] : []))).toEqual(["mark p1", "mark p0"]);
  });

  it("puts a new one behind the others, and takes one out where it stands", () => {
    const { settings, fields, press } = form({ policies: ["waiting", "uniform", "otf-lin-ucb"] });
    const field = (policy: string) => fields("policies").filter(({ value }) => value === policy)[0];
    expect(press(field("delay-lin-ts"))).toEqual([{ ...settings, policies: ["waiting", "uniform", "otf-lin-ucb", "delay-lin-ts"] }]);
    expect(press(field("uniform"))).toEqual([{ ...settings, policies: ["waiting", "otf-lin-ucb"] }]);
  });

  it("keeps at least one, and at most five", () => {
    const free = (...policies: string[]) => {
      const { fields } = form({ policies });
      return fields("policies").flatMap(({ value, disabled }) => (disabled ? [] : [value]));
    };
    const all = Object.keys(contenders.linear);
    expect(free("waiting")).toEqual(all.filter((name) => name !== "waiting"));
    expect(free(...all.slice(0, 2))).toEqual(all);
    expect(free(...all.slice(0, 4))).toEqual(all);
    expect(free(...all.slice(0, 5))).toEqual(all.slice(0, 5));
  });
});

describe("the delays", () => {
  it("are chosen by their law, of which all are offered", () => {
    const { settings, fields, elements, press } = form({ delay: "uniform" });
    const options = elements.flatMap(({ tag, props }) => (tag === "option" ? [[props.value, props.selected, props.children]] : []));
    expect(options).toEqual(Object.entries(delays).map(([id, { name }]) => [id, id === "uniform", name]));
    expect(press(fields("delay")[0], { currentTarget: { value: "heavy-tail" } })).toEqual([{ ...settings, delay: "heavy-tail" }]);
  });

  it.each([
    ["geometric", "Mean"],
    ["uniform", "Mean"],
    ["log-normal", "Median"],
    ["heavy-tail", "Median"],
  ] as const)("of the law %s have a parameter called %s", (delay, label) => {
    const { fields, text } = form({ delay });
    expect([fields("typical").length, text.includes(`Heavy tail None ${label} Window`)]).toEqual([1, true]);
  });

  it("of none have no parameter, and all end inside the window", () => {
    const { fields, text } = form({ delay: "none" });
    expect(fields("typical")).toEqual([]);
    expect(text).toContain("100 % of delays end inside the window.");
  });

  it("say which share ends inside the window, rounded down", () => {
    // 1 - (100 / 101)^501 = 0.99315.
    expect(form({ delay: "geometric", typical: 100, window: 500 }).text).toContain("99.3 % of delays end inside the window.");
    // Uniform on 0 to 40: 11 of 41.
    expect(form({ delay: "uniform", typical: 20, window: 10 }).text).toContain("26.8 % of delays end");
  });
});

describe("a number", () => {
  const typed = (value: string, valid: boolean) => ({ currentTarget: { value, valueAsNumber: Number(value), validity: { valid } } });

  it.each([
    ["typical", 1, 10_000],
    ["window", 1, 20_000],
    ["rounds", 10, 20_000],
    ["seed", 0, 999_999_999],
  ] as const)("called %s is a whole one from %d to %d", (name, min, max) => {
    const { settings, fields } = form();
    const [field] = fields(name);
    expect(field).toMatchObject({ type: "number", min, max, step: 1, required: true, value: settings[name] });
    expect(field["aria-invalid"]).toBe("false");
  });

  it("that is valid starts a match, and another one does not", () => {
    const { settings, fields, press } = form();
    const [field] = fields("window");
    expect(press(field, typed("77", true))).toEqual([{ ...settings, window: 77 }]);
    expect(press(field, typed("0", false))).toEqual([]);
  });

  it("has a label of its own", () => {
    expect(form().text).toMatch(/ Mean Window .* Match Rounds Seed Slow motion$/);
  });
});

describe("slow motion", () => {
  it("is on at a slow pace, and turns the pace to the other", () => {
    const [slow, fast] = [form({ pace: "slow" }), form({ pace: "fast" })];
    expect([slow, fast].map(({ fields }) => fields("pace")[0].checked)).toEqual([true, false]);
    expect(slow.press(slow.fields("pace")[0])).toEqual([{ ...slow.settings, pace: "fast" }]);
    expect(fast.press(fast.fields("pace")[0])).toEqual([{ ...fast.settings, pace: "slow" }]);
  });
});
