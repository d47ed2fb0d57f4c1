import { afterEach, describe, expect, it, vi } from "vitest";
import { scaleOf } from "../../../pages/dashboard/scale.ts";
import { column, decimal, duration, moment, percent, signedPercent, tick, whole } from "../../../pages/ui/notation.ts";
import { linkTo, routeOf } from "../../../pages/ui/route.ts";

afterEach(() => void vi.useRealTimers());

describe("what is written", () => {
  it.each([
    [duration, 0, "0"],
    [duration, 1, "1 ms"],
    [duration, 999, "999 ms"],
    [duration, 1000, "1 s"],
    [duration, 1500, "1.5 s"],
    [duration, -1500, "-1.5 s"],
    [duration, 9940, "9.9 s"],
    [duration, 60_000, "1 min"],
    [duration, 65_000, "1.1 min"],
    [duration, 3_600_000, "1 h"],
    [duration, 86_400_000, "1 d"],
    [duration, 864_000_000, "10 d"],
    [percent, 0, "0 %"],
    [percent, 0.0342, "3.4 %"],
    [percent, -0.05, "−5.0 %"],
    [percent, 0.1, "10 %"],
    [percent, 0.342, "34 %"],
    [percent, 0.0099, "0.99 %"],
    [percent, 0.00996, "1.0 %"],
    [percent, -0.00034, "−0.034 %"],
    [percent, 0.000001, "0.00010 %"],
    [percent, -1e-12, "0 %"],
    [percent, -0, "0 %"],
    [signedPercent, 0.03, "+3.0 %"],
    [signedPercent, 1e-12, "0 %"],
    [signedPercent, -1e-12, "0 %"],
    [signedPercent, -0.03, "−3.0 %"],
    [decimal, 0, "0"],
    [decimal, -0, "0"],
    [decimal, -0.01234, "−0.0123"],
    [decimal, 12.345, "12.3"],
    [decimal, 99.94, "99.9"],
    [decimal, 100.4, "100"],
    [decimal, 1234.6, "1,235"],
    [whole, 12_345, "12,345"],
    [whole, 0.6, "1"],
  ] as const)("by %o of %d is %s", (write, value, text) => {
    expect(write(value)).toBe(text);
  });

  it("of a column has as many decimals as give the greatest three digits", () => {
    const columns = [[0.131, -0.0213], [-12, Math.PI], [100, 1.5], [1234], [1e-9], [0, 0], [-0.001, 9]];
    expect(columns.map((values) => values.map(column(values)).join(" "))).toEqual([
      ...["0.131 −0.021", "−12.0 3.1", "100 2", "1234", "0.00000000", "0 0", "0.00 9.00"],
    ]);
  });

  it("of a moment is its time, with the day unless that is today, with the year unless it is this one", () => {
    vi.useFakeTimers({ now: new Date(2026, 10, 21, 23), toFake: ["Date"] });
    const at = (...day: [year: number, month: number, day: number]) => new Date(...day, 9, 5, 7).getTime();
    expect([at(2026, 10, 21), at(2026, 10, 20), at(2026, 0, 1), at(2025, 10, 21), at(2025, 11, 31)].map((ms) => moment(ms))).toEqual([
      ...["09:05", "20 Nov 09:05", "1 Jan 09:05", "21 Nov 2025 09:05", "31 Dec 2025 09:05"],
    ]);
    expect(moment(at(2026, 10, 20), true)).toBe("20 Nov 09:05:07");
  });

  it("at an axis of times is the day at its beginning, otherwise the time, to the second if ticks are close", () => {
    expect(tick(new Date(2026, 10, 21).getTime(), 1000)).toBe("21 Nov");
    const time = new Date(2026, 10, 21, 0, 0, 5).getTime();
    expect([tick(time, 59_999), tick(time, 60_000)]).toEqual(["00:00:05", "00:00"]);
  });
});

describe("the address", () => {
  it.each(["0199.a-b_c", "50 % / #1", "ключ"])("of the impression %j is read as that impression", (impression) => {
    expect(routeOf(linkTo("shop", impression), "shop")).toEqual({ view: "dashboard", model: "shop", impression });
  });

  it.each([
    ["#shop", { view: "shop" }],
    ["#shop/x/y", { view: "shop" }],
    ["#dashboard", { view: "dashboard", model: undefined, impression: undefined }],
    ["#dashboard/a%2Fb", { view: "dashboard", model: "a/b", impression: undefined }],
    ["#dashboard/%", { view: "dashboard", model: "%", impression: undefined }],
    ["", { view: "shop" }],
    ["#", { view: "shop" }],
    ["#elsewhere", { view: "shop" }],
    ["#%", { view: "shop" }],
  ] as const)("%s is read as %j where the shop is home", (hash, route) => {
    expect(routeOf(hash, "shop")).toEqual(route);
  });

  it("of a model and of an impression is written with all that is not plain escaped", () => {
    expect([linkTo("a/b"), linkTo("a", "b c")]).toEqual(["#dashboard/a%2Fb", "#dashboard/a/b%20c"]);
    expect(routeOf("#elsewhere", "dashboard")).toEqual({ view: "dashboard" });
  });
});

describe("a scale", () => {
  it("holds all its values, with a twenty-fifth of their span to spare at either end", () => {
    const { most, place } = scaleOf([3, -1, 1]);
    expect(most).toBeCloseTo(3.16, 12);
    expect([-1.16, -1, 1, 3, 3.16].map((value) => Number.parseFloat(place(value)))).toEqual(
      [0, 100 / 27, 50, 2600 / 27, 100].map((share) => expect.closeTo(share, 9)),
    );
    expect(place(1)).toMatch(/^50(\.0*\d*)?%$/);
  });

  it("of one value has it in the middle", () => {
    const { most, place } = scaleOf([2, 2]);
    expect(most).toBeCloseTo(2.04, 12);
    expect(Number.parseFloat(place(2))).toBeCloseTo(50, 9);
  });
});
