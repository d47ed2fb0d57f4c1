import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { DelayOf } from "../../../../pages/dashboard/delay.tsx";
import { ExaminationOf } from "../../../../pages/dashboard/examination.tsx";
import { ExplanationOf } from "../../../../pages/dashboard/explanation.tsx";
import { Recents } from "../../../../pages/dashboard/recents.tsx";
import { SignIn, WRONG_KEY } from "../../../../pages/dashboard/sign-in.tsx";
import { Refusal } from "../../../../pages/ui/call.ts";
import type { Delay } from "../../../../worker/protocol/metrics-answer.ts";
import { busy, examined, explained } from "../../../browser/report.ts";
import { drawnAgain, mounted, stubPage } from "../../../support/mounted.ts";

beforeEach(() => stubPage());
afterEach(() => void vi.unstubAllGlobals());

describe("the examination of places", () => {
  it("is read when asked for, and can be read again", async () => {
    const examination = vi.fn(async () => examined);
    const { one, send, text } = await mounted(ExaminationOf, { source: { examination }, model: "shop" });
    expect(examination).not.toHaveBeenCalled();
    await send(one("button", "Estimate from the log"), "click");
    expect(examination.mock.calls).toEqual([["shop"]]);
    expect(text()).toContain("Estimated from 2,023 random lists");
    expect(one("button", "Estimate again").getAttribute("disabled")).toBeNull();
  });

  it("cannot be asked for while it is being read", async () => {
    let answer = (_: typeof examined): void => {};
    const examination = () => new Promise<typeof examined>((resolve) => (answer = resolve));
    const { all, send, text } = await mounted(ExaminationOf, { source: { examination }, model: "shop" });
    const [button] = all("button");
    await send(button, "click");
    expect([button.getAttribute("disabled"), text()]).toEqual(["", expect.stringMatching(/Reading the log$/)]);
    answer(examined);
    await drawnAgain();
    expect([button.getAttribute("disabled"), text()]).toEqual([null, expect.stringMatching(/Estimate again$/)]);
  });

  it("keeps what was found when it cannot be read again, and says why", async () => {
    const examination = vi.fn(async () => examined);
    const { one, send, text } = await mounted(ExaminationOf, { source: { examination }, model: "shop" });
    await send(one("button", "Estimate from the log"), "click");
    examination.mockRejectedValueOnce(new Refusal(429, "too many requests"));
    await send(one("button", "Estimate again"), "click");
    expect(text()).toMatch(/Estimated from 2,023 random lists .* Not estimated: too many requests\. Estimate again$/);
    await send(one("button", "Estimate again"), "click");
    expect(text()).not.toContain("Not estimated");
  });
});

describe("the newest impressions", () => {
  const location = { hash: "" };
  const explain = async (typed: string) => {
    location.hash = "#dashboard/shop";
    stubPage({ location });
    const { all, one, send } = await mounted(Recents, { metrics: busy, chosen: undefined });
    await send(one("input", "pasted"), "input", { value: typed });
    return (await send(all("form")[0], "submit")).defaultPrevented;
  };

  it("are joined by any other, whose id the reader pastes", async () => {
    expect(await explain(" 01a/b.token\n")).toBe(true);
    expect(location.hash).toBe("#dashboard/shop/01a%2Fb.token");
  });

  it("stay as they are when the reader pastes nothing", async () => {
    expect(await explain("  ")).toBe(true);
    expect(location.hash).toBe("#dashboard/shop");
  });

  it("have a field with a label", async () => {
    const { all } = await mounted(Recents, { metrics: busy, chosen: undefined });
    expect([all("label")[0].getAttribute("for"), all("input")[0].getAttribute("id")]).toEqual(["pasted", "pasted"]);
  });
});

describe("the goals", () => {
  const delay = busy.delay as Delay;
  const goals = ["click", "purchase"].map((goal, i) => ({ goal, windowMs: 3_600_000, currency: null, delay: i === 0 ? null : delay }));

  it("are drawn one at a time, the one that the reader chooses", async () => {
    const { one, all, send, text } = await mounted(DelayOf, { metrics: { ...busy, goals } });
    const pressed = () => all("button").map((button) => button.getAttribute("aria-pressed"));
    expect([pressed(), text().includes("How late conversions come: click After the first conversion")]).toEqual([["true", "false"], true]);
    await send(one("button", "purchase"), "click");
    expect([pressed(), text().includes("How late conversions come: purchase 95 % of conversions")]).toEqual([["false", "true"], true]);
  });
});

describe("a chart", () => {
  it("is a figure with its result in words, and shows its numbers as a table when they are opened", async () => {
    const { all, one, send, text } = await mounted(DelayOf, { metrics: busy });
    const drawing = one("div", `How late conversions come. ${all("p")[0].childNodes[0].text}`);
    expect([drawing.getAttribute("role"), all("figure")[0].getAttribute("aria-labelledby"), all("h2")[0].getAttribute("id")]).toEqual([
      ...["img", "delay", "delay"],
    ]);
    expect(text()).toContain("share that has arrived 95 % band window for 95 % Numbers of How late conversions come");
    expect(all("table")).toEqual([]);
    await send(all("details")[0], "toggle", { open: true });
    expect(all("tr")).toHaveLength(1 + (busy.delay as Delay).distribution.length);
    await send(all("details")[0], "toggle", { open: false });
    expect(all("table")).toEqual([]);
  });

  it("names its columns and its rows for screen readers", async () => {
    const { all, send } = await mounted(DelayOf, { metrics: busy });
    await send(all("details")[0], "toggle", { open: true });
    const scopes = all("th").map((cell) => cell.getAttribute("scope"));
    expect(scopes).toEqual([...Array(4).fill("col"), ...Array((busy.delay as Delay).distribution.length).fill("row")]);
    expect(all("td")).toHaveLength(3 * (busy.delay as Delay).distribution.length);
  });
});

describe("an explanation", () => {
  it("has the focus on its heading, so that screen readers announce it, and can be closed", async () => {
    const { all, one } = await mounted(ExplanationOf, { explanation: explained, now: busy.now });
    const heading = one("h2", "explanation");
    expect([heading.focused, heading.getAttribute("tabindex"), all("a")[0].getAttribute("href")]).toEqual([true, "-1", "#dashboard/shop"]);
  });
});

describe("the sign-in", () => {
  const signIn = async (answer: () => Promise<Response>, problem = "") => {
    const asked = vi.fn<(path: string, init: { headers: object }) => Promise<Response>>(answer);
    stubPage({ fetch: asked });
    const enter = vi.fn();
    const page = await mounted(SignIn, { enter, problem });
    const open = async (key: string) => {
      await page.send(page.one("input", "key"), "input", { value: key });
      return (await page.send(page.all("form")[0], "submit")).defaultPrevented;
    };
    const alert = () =>
      page
        .one("p", "key-problem")
        .childNodes.map(({ text }) => text)
        .join("");
    const isAsking = () => page.one("button", "Open").getAttribute("disabled") !== null;
    return { asked, enter, open, alert, isAsking, page };
  };

  it("enters with a key that the worker accepts, without the spaces around it", async () => {
    const { asked, enter, open, alert } = await signIn(async () => Response.json({ models: [] }));
    expect(await open("  sk_1 ")).toBe(true);
    expect(asked.mock.calls).toEqual([["/v1/models", { headers: { authorization: "Bearer sk_1" } }]]);
    expect([enter.mock.calls, alert()]).toEqual([[["sk_1"]], ""]);
  });

  it("asks again after a key that the worker refuses, or that no header may hold", async () => {
    for (const [status, key] of [
      [401, "sk_2"],
      [500, "schlüssel"],
    ] as const) {
      const { enter, open, alert, isAsking } = await signIn(async () => Response.json({ detail: "no" }, { status }));
      await open(key);
      expect([enter.mock.calls, alert(), isAsking()]).toEqual([[], WRONG_KEY, false]);
    }
  });

  it("says why a key could not be checked", async () => {
    const failed = await signIn(async () => Response.json({ detail: "the store is full" }, { status: 503 }));
    await failed.open("sk_3 ~");
    expect(failed.alert()).toBe("The key could not be checked: the store is full.");
    const silent = await signIn(() => Promise.reject(new TypeError("Failed to fetch")));
    await silent.open("sk_3");
    expect([silent.alert(), silent.enter.mock.calls, silent.isAsking()]).toEqual([
      ...["The key could not be checked: the worker does not answer.", [], false],
    ]);
  });

  it("asks once at a time", async () => {
    const { open, isAsking } = await signIn(() => new Promise(() => {}));
    expect(isAsking()).toBe(false);
    await open("sk_4");
    expect(isAsking()).toBe(true);
  });

  it("says at first why it asks, in a hidden field with a label and a hint", async () => {
    const { alert, page } = await signIn(() => new Promise(() => {}), WRONG_KEY);
    expect(alert()).toBe(WRONG_KEY);
    const field = page.one("input", "key");
    expect([field.getAttribute("type"), field.getAttribute("required"), page.all("label")[0].getAttribute("for")]).toEqual([
      ...["password", "", "key"],
    ]);
    for (const id of field.getAttribute("aria-describedby")?.split(" ") ?? []) expect(page.one("p", id)).toBeDefined();
    expect(page.one("p", "key-problem").getAttribute("role")).toBe("alert");
  });
});
