// Colours, axes and sizes of all charts, and the text and the table that stand beside each drawing.

import { useLayoutEffect, useRef, useState } from "hono/jsx/dom";
import uPlot from "uplot";
import { Legend } from "./marks.tsx";
import { whole } from "./notation.ts";
import { Table } from "./table.tsx";

/** A chart as a drawing, as text and as a table. */
export interface ChartProps {
  readonly id: string;
  readonly title: string;
  /** One sentence that states the result. */
  readonly summary: string;
  /** One entry per line: the class of its mark, and its name. */
  readonly legend?: readonly { readonly mark: string; readonly name: string }[];
  /** Series, scales and axes. Called once, when the chart first appears. */
  readonly plot: () => Omit<uPlot.Options, "width" | "height">;
  readonly data: uPlot.AlignedData;
  /** One line of text about the point at an index. */
  readonly describe: (index: number) => string;
  /** The numbers of the chart as a table. */
  readonly table: () => { readonly columns: readonly string[]; readonly rows: readonly (readonly string[])[] };
}

const FONT = "12px system-ui, sans-serif";

/** Resolves a CSS colour for a canvas, in the present colour scheme. */
export function colour(chart: uPlot, css: string): string {
  // getComputedStyle resolves only real properties; it returns a custom property as written.
  chart.root.style.color = css;
  return getComputedStyle(chart.root).color;
}

/** An axis in the colours of the page. */
function axis(options: uPlot.Axis): uPlot.Axis {
  const line = { stroke: (chart: uPlot) => colour(chart, "var(--line)"), width: 1 };
  return { stroke: (chart) => colour(chart, "var(--quiet)"), grid: line, ticks: { ...line, size: 4 }, font: FONT, gap: 4, ...options };
}

/** The axis along x. */
export function below(options: uPlot.Axis): uPlot.Axis {
  return axis({ size: 26, ...options });
}

/** The axis of a quantity, from zero up. */
export function upwards(write: (value: number) => string): uPlot.Axis {
  return axis({ size: 44, space: 36, values: (_, ticks) => ticks.map(write), ticks: { show: false } });
}

/** A line in a colour of the page, without dots. */
export function line(css: string, more: uPlot.Series = {}): uPlot.Series {
  return { stroke: (chart) => colour(chart, css), width: 2, points: { show: false }, ...more };
}

/** A scale from zero to a little above the greatest value, and to `least` at least. */
export function fromZero(least: number): uPlot.Scale {
  return { range: (_, __, most) => [0, 1.1 * Math.max(least, most)] };
}

/** The label of a tick of a count: none between whole numbers. */
export function wholeTick(tick: number): string {
  return Number.isInteger(tick) ? whole(tick) : "";
}

function sizeOf({ clientWidth: width, clientHeight: height }: HTMLElement): { width: number; height: number } {
  return { width, height };
}

/** Options of every chart. The component draws title and legend, so uPlot does not. Dragging does not zoom. */
const fixed = {
  // The right padding holds half a label.
  padding: [8, 24, 0, 0],
  legend: { show: false },
  cursor: { y: false, drag: { x: false, y: false }, points: { size: 8 } },
} satisfies Partial<uPlot.Options>;

/** Draws in an element and redraws when its size, the data or the colour scheme change. Returns the index under the pointer too. */
function useDrawing({ plot, data }: Pick<ChartProps, "plot" | "data">) {
  const place = useRef<HTMLDivElement>(null);
  const drawn = useRef<uPlot | null>(null);
  const latest = useRef(data);
  latest.current = data;
  const [pointed, point] = useState<number | null>(null);

  // Layout effects, here as elsewhere in the page: hono/jsx runs a plain effect twice if the component is drawn again before it ran.
  useLayoutEffect(() => {
    const element = place.current as HTMLDivElement;
    const make = (): uPlot => {
      const options = plot();
      const hooks = { ...options.hooks, setCursor: [({ cursor }: uPlot) => point(cursor.idx ?? null)] };
      return new uPlot({ ...fixed, ...options, hooks, ...sizeOf(element) }, latest.current as uPlot.AlignedData, element);
    };
    // The observer also reports the first size, as soon as there is one.
    const sized = new ResizeObserver(() => {
      if (drawn.current) drawn.current.setSize(sizeOf(element));
      else drawn.current = make();
    });
    sized.observe(element);
    const schemes = ["(prefers-color-scheme: dark)", "(forced-colors: active)"].map((query) => matchMedia(query));
    const recolour = () => drawn.current?.redraw(false, true);
    for (const scheme of schemes) scheme.addEventListener("change", recolour);
    return () => {
      sized.disconnect();
      for (const scheme of schemes) scheme.removeEventListener("change", recolour);
      drawn.current?.destroy();
    };
  }, []);
  useLayoutEffect(() => drawn.current?.setData(data), [data]);
  return { place, pointed };
}

/** A drawing with its summary, a text about the point under the pointer, and a table of its numbers. */
export function Chart(props: ChartProps) {
  const { id, title, summary, legend = [], data, describe, table } = props;
  const { place, pointed } = useDrawing(props);
  const [open, setOpen] = useState(false);
  return (
    <figure aria-labelledby={id}>
      <figcaption>
        <h2 id={id}>{title}</h2>
        <p class="quiet">{summary}</p>
      </figcaption>
      {legend.length > 0 && <Legend entries={legend.map(({ mark, name }) => ({ mark: `mark ${mark}`, name }))} />}
      <div class="chart">
        <div class="drawing" role="img" aria-label={`${title}. ${summary}`} ref={place} />
        <p class="pointed quiet" aria-hidden="true">
          {pointed !== null && pointed < data[0].length ? describe(pointed) : ""}
        </p>
      </div>
      <details class="numbers" open={open} onToggle={(event: Event) => setOpen((event.currentTarget as HTMLDetailsElement).open)}>
        <summary>
          Numbers<span class="unseen"> of {title}</span>
        </summary>
        {open && <Table {...table()} />}
      </details>
    </figure>
  );
}
