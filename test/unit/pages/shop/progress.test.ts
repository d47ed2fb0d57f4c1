import { describe, expect, it } from "vitest";
import type { Visit } from "../../../../pages/shop/crowd.ts";
import { Progress } from "../../../../pages/shop/progress.tsx";
import type { Session } from "../../../../pages/shop/session.ts";
import { drawn } from "../../../support/markup.ts";

const visit = (favourite: boolean): Visit => ({ favourite, model: 0, uniform: 0 });
const visitsOf = (...favourites: boolean[]): Visit[] => favourites.map(visit);
const repeated = (times: number, favourite: boolean): Visit[] => visitsOf(...Array<boolean>(times).fill(favourite));
const progress = (session: Partial<Session>) => drawn(Progress, { session: { visits: [], ...session } as Session });
const barsOf = (visits: Visit[]) =>
  progress({ visits }).elements.flatMap(({ props }) =>
    props.style ? [Number.parseFloat((props.style as Record<string, string>)["--share"])] : [],
  );

describe("the counts of the shop", () => {
  it("are shown, pending, converted and expired impressions, each with its meaning", () => {
    const { text } = progress({ counts: { impressions: 1234, pending: 5, converted: 6, expired: 7 } });
    expect(text).toContain(
      "shown 1,234 one impression each pending 5 nobody knows yet converted 6 bought and reported expired 7 not bought in time",
    );
  });

  it("are dashes before the worker has answered", () => {
    expect(progress({}).text).toContain("shown – one impression each pending – nobody knows yet converted – bought");
  });

  it("have the mark of their status, except the sum of all", () => {
    const { elements } = progress({});
    const marks = elements.flatMap(({ tag, props }) => (tag === "i" ? [props["data-status"]] : []));
    expect(marks).toEqual(["pending", "converted", "expired"]);
  });
});

describe("the share of visitors who saw their favourite first", () => {
  it("counts the last fifty visitors only, and is compared with chance among eight products", () => {
    const visits = [...repeated(10, true), ...repeated(33, false), ...repeated(17, true)];
    expect(progress({ visits }).text).toMatch(/favourite shown first 34 % of the last 50 visitors; 13 % at random$/);
  });

  it("counts all visitors while fewer have come", () => {
    expect(progress({ visits: visitsOf(true, false, false) }).text).toContain("33 % of the last 3 visitors");
  });

  it("is a dash before the first visitor, without a bar", () => {
    expect(progress({}).text).toMatch(/favourite shown first – of the visitors you send; 13 % at random$/);
    expect(barsOf([])).toEqual([]);
  });

  it("has a bar for each run of 25 visitors, the oldest first, and one for those of an unfinished run", () => {
    expect(barsOf([...repeated(5, true), ...repeated(20, false), ...repeated(25, true), ...visitsOf(true, false)])).toEqual([20, 100, 50]);
  });

  it("has the twelve newest bars", () => {
    const runs = Array.from({ length: 14 }, (_, run) => [...repeated(run, true), ...repeated(25 - run, false)]);
    expect(barsOf(runs.flat())).toEqual(Array.from({ length: 12 }, (_, i) => expect.closeTo(4 * (i + 2), 9)));
  });
});
