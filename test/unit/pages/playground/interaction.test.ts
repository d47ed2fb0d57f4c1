import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { Form as FormComponent } from "../../../../pages/playground/client/form.tsx";
import { Status } from "../../../../pages/playground/client/status.tsx";
import { defaults } from "../../../../pages/playground/settings.ts";
import { mounted, stubPage } from "../../../support/mounted.ts";

describe("the address of a match", () => {
  const page = async (writeText: () => Promise<void>) => {
    stubPage({ navigator: { clipboard: { writeText } }, location: { href: "https://example.com/" } });
    const props = { run: { state: "idle" } as const, settings: defaults.linear, problems: [], stop() {}, play() {}, change() {} };
    return mounted(Status, props);
  };
  afterEach(() => void vi.unstubAllGlobals());

  it("is copied, and the button says so", async () => {
    const writeText = vi.fn(async () => {});
    const { one, send, text } = await page(writeText);
    await send(one("button", "Copy link"), "click");
    expect([writeText.mock.calls, text()]).toEqual([[["https://example.com/"]], expect.stringContaining("Next seed Copied")]);
  });

  it("is left to the reader where the browser does not copy it", async () => {
    const { one, send, text } = await page(() => Promise.reject(new Error("not allowed")));
    await send(one("button", "Copy link"), "click");
    expect(text()).toContain("Copy it from the address bar");
  });
});

describe("the form", () => {
  const screen = Object.assign(new EventTarget(), { matches: false });
  let Form: typeof FormComponent;
  beforeAll(async () => {
    vi.resetModules();
    stubPage({ matchMedia: () => screen });
    ({ Form } = await import("../../../../pages/playground/client/form.tsx"));
  });
  beforeEach(() => {
    screen.matches = false;
    stubPage();
  });
  afterAll(() => void vi.unstubAllGlobals());

  const form = async () => {
    const change = vi.fn();
    return { change, ...(await mounted(Form, { settings: defaults.linear, change })) };
  };

  it("is folded on a narrow screen until the reader opens it, and opens when the screen becomes wide", async () => {
    const { all, send } = await form();
    const [details] = all("details");
    const isOpen = () => details.getAttribute("open") !== null;
    expect(isOpen()).toBe(false);
    await send(details, "toggle", { open: true });
    expect(isOpen()).toBe(true);
    await send(details, "toggle", { open: false });
    expect(isOpen()).toBe(false);
    screen.matches = true;
    screen.dispatchEvent(new Event("change"));
    await send(details, "pointermove");
    expect(isOpen()).toBe(true);
  });

  it("says which number it expected instead of one that it does not take, until it gets one", async () => {
    const { change, one, send, text } = await form();
    const rounds = one("input", "rounds");
    expect(rounds.getAttribute("aria-invalid")).toBe("false");
    await send(rounds, "input", { value: "5", valueAsNumber: 5, validity: { valid: false } });
    expect(text()).toContain("Expected a whole number from 10 to 20000, got 5: 3000 still counts.");
    expect([rounds.getAttribute("aria-invalid"), change.mock.calls.length]).toEqual(["true", 0]);
    await send(rounds, "input", { value: "", valueAsNumber: Number.NaN, validity: { valid: false } });
    expect(text()).toContain("got none: 3000 still counts.");
    await send(rounds, "input", { value: "50", valueAsNumber: 50, validity: { valid: true } });
    expect(text()).not.toContain("Expected");
    expect([rounds.getAttribute("aria-invalid"), change.mock.calls]).toEqual(["false", [[{ ...defaults.linear, rounds: 50 }]]]);
  });
});
