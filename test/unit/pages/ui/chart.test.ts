import { useState } from "hono/jsx/dom";
import { jsx } from "hono/jsx/dom/jsx-runtime";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { ChartProps } from "../../../../pages/ui/chart.tsx";
import { drawnAgain, mounted, type PlainNode, stubPage } from "../../../support/mounted.ts";

/** Stands for uPlot. It records what it is made of and what it is told. */
class Plot {
  static made: Plot[] = [];
  readonly told: unknown[][] = [];
  readonly options: Record<string, unknown> & { readonly hooks: Record<string, ((chart: unknown) => void)[]> };
  readonly data: unknown;
  readonly place: unknown;

  constructor(options: never, data: unknown, place: unknown) {
    [this.options, this.data, this.place] = [options, data, place];
    Plot.made.push(this);
  }
  setSize(size: object): void {
    this.told.push(["setSize", size]);
  }
  setData(data: unknown): void {
    this.told.push(["setData", data]);
  }
  redraw(...how: unknown[]): void {
    this.told.push(["redraw", ...how]);
  }
  destroy(): void {
    this.told.push(["destroy"]);
  }
  /** Points at an index, as the reader does. */
  async point(idx: number | null | undefined): Promise<void> {
    for (const hook of this.options.hooks.setCursor) hook({ cursor: { idx } });
    await drawnAgain();
  }
}

let schemes: Record<string, EventTarget>;
let sized: { watched: unknown[]; resize: () => void };
beforeEach(() => {
  Plot.made = [];
  schemes = {};
  sized = { watched: [], resize: () => {} };
  vi.resetModules();
  vi.doMock("uplot", () => ({ default: Plot }));
  stubPage({
    matchMedia: (query: string) => (schemes[query] ??= new EventTarget()),
    ResizeObserver: class {
      constructor(resize: () => void) {
        sized.resize = resize;
      }
      observe(element: unknown): void {
        sized.watched.push(element);
      }
      disconnect(): void {
        sized.watched = [];
      }
    },
  });
});
afterEach(() => {
  vi.doUnmock("uplot");
  vi.resetModules();
  vi.unstubAllGlobals();
});

const first: ChartProps["data"] = [
  [1, 2, 3],
  [10, 20, 30],
];
const second: ChartProps["data"] = [[1], [40]];

/** A chart, which the test may give other data or take off the page. */
async function chart(more: Partial<ChartProps> = {}) {
  const { Chart } = await import("../../../../pages/ui/chart.tsx");
  const drawClear = vi.fn();
  const props: ChartProps = {
    ...{ id: "sales", title: "Sales", summary: "They grow.", data: first },
    plot: vi.fn(() => ({ series: [{}, { width: 7 }], padding: undefined, hooks: { drawClear: [drawClear] } }) as never),
    describe: (index) => `Day ${index}`,
    table: () => ({ columns: ["Day"], rows: [["1"]] }),
    ...more,
  };
  let set: (data: ChartProps["data"] | null) => void = () => {};
  const Parent = () => {
    const [data, setData] = useState<ChartProps["data"] | null>(first);
    set = setData;
    return data ? jsx(Chart as never, { ...props, data }, undefined) : jsx("p", { children: "gone" }, undefined);
  };
  const page = await mounted(Parent, {});
  const [place] = page.all("div").filter((node) => node.getAttribute("role") === "img");
  const give = async (data: ChartProps["data"] | null) => {
    set(data);
    await drawnAgain();
  };
  const resize = (width: number, height: number) => {
    Object.assign(place, { clientWidth: width, clientHeight: height });
    sized.resize();
  };
  return { page, place, give, resize, props, drawClear };
}

describe("the drawing of a chart", () => {
  it("is made once its place has a size, of the options of the chart and of every chart", async () => {
    const { place, resize, props, drawClear } = await chart();
    expect([Plot.made, sized.watched]).toEqual([[], [place]]);
    resize(300, 200);
    const [{ options, data, place: drawnIn }] = Plot.made;
    expect([data, drawnIn, vi.mocked(props.plot).mock.calls.length]).toEqual([first, place, 1]);
    expect(options).toMatchObject({
      ...{ width: 300, height: 200, series: [{}, { width: 7 }], legend: { show: false } },
      cursor: { y: false, drag: { x: false, y: false } },
      hooks: { drawClear: [drawClear] },
    });
  });

  it("has room for half a label at its right", async () => {
    const { resize } = await chart({ plot: () => ({ series: [{}] }) });
    resize(300, 200);
    expect(Plot.made[0].options.padding).toEqual([8, 24, 0, 0]);
  });

  it("follows the size of its place", async () => {
    const { resize } = await chart();
    resize(300, 200);
    resize(150, 100);
    expect(Plot.made.map(({ told }) => told)).toEqual([[["setSize", { width: 150, height: 100 }]]]);
  });

  it("follows the data, and begins with the latest", async () => {
    const { give, resize } = await chart();
    await give(second);
    resize(300, 200);
    expect(Plot.made[0].data).toEqual(second);
    await give(first);
    expect(Plot.made.map(({ told }) => told)).toEqual([[["setData", first]]]);
  });

  it.each(["(prefers-color-scheme: dark)", "(forced-colors: active)"])("is painted again when %s changes", async (query) => {
    const { resize } = await chart();
    schemes[query].dispatchEvent(new Event("change"));
    resize(300, 200);
    schemes[query].dispatchEvent(new Event("change"));
    // Without new paths, with new axes.
    expect(Plot.made.map(({ told }) => told)).toEqual([[["redraw", false, true]]]);
  });

  it("ends with the chart", async () => {
    const { page, give, resize } = await chart();
    resize(300, 200);
    await give(null);
    for (const scheme of Object.values(schemes)) scheme.dispatchEvent(new Event("change"));
    expect([page.text(), sized.watched, Plot.made[0].told]).toEqual(["gone", [], [["destroy"]]]);
  });
});

describe("the text about a point", () => {
  it("is that of the one under the pointer, which screen readers skip", async () => {
    const { page, resize } = await chart();
    resize(300, 200);
    const [text] = page.all("p").filter((node) => node.getAttribute("aria-hidden") === "true");
    const said = () => text.childNodes.map((node: PlainNode) => node.text).join("");
    expect(said()).toBe("");
    await Plot.made[0].point(0);
    expect(said()).toBe("Day 0");
    await Plot.made[0].point(2);
    expect(said()).toBe("Day 2");
    await Plot.made[0].point(null);
    expect(said()).toBe("");
  });

  it("is empty where new data have no such point", async () => {
    const { page, give, resize } = await chart();
    resize(300, 200);
    await Plot.made[0].point(1);
    expect(page.text()).toContain("Day 1");
    await give(second);
    expect(page.text()).not.toContain("Day 1");
    await Plot.made[0].point(undefined);
    expect(page.text()).not.toContain("Day 0");
  });
});

describe("the legend of a chart", () => {
  it("has a mark and a name per line, and is left out without lines", async () => {
    const { page } = await chart({ legend: [{ mark: "policy", name: "orders" }] });
    expect([page.all("li").length, page.all("i").map((mark) => mark.getAttribute("class"))]).toEqual([1, ["mark policy"]]);
    expect((await chart()).page.all("ul")).toEqual([]);
  });
});
