import { Chart, type ChartProps } from "../../pages/ui/chart.tsx";

interface Element {
  readonly tag: string | ((props: object) => unknown);
  readonly props: { readonly children?: unknown; readonly [name: string]: unknown };
}

/** The first rendering of a component. */
export interface Drawn {
  /** Its words and marks, a line for each block, row or chart. */
  readonly lines: readonly string[];
  /** The elements, with components resolved. */
  readonly elements: readonly Element[];
  /** The props of its charts, which are not drawn. */
  readonly charts: readonly ChartProps[];
}

const INLINE = /^(small|b|i|span|strong|a|code|input|td|th|dt|dd)$/;
/** Attributes that tell a state. */
const TOLD = /^(href|title|disabled|checked|selected|value|open|aria-(current|pressed|invalid)|data-(status|sign)|style)$/;

/** Renders a component without a page. Hooks return their initial values, and effects do not run. */
export function drawn<Props extends object>(component: (props: Props) => unknown, props: Props): Drawn {
  const elements: Element[] = [];
  const charts: ChartProps[] = [];
  const textOf = (node: unknown, inCell = false): string => {
    if (node === null || node === undefined || typeof node === "boolean") return "";
    if (typeof node === "string" || typeof node === "number") return String(node);
    if (Array.isArray(node)) return node.map((each) => textOf(each, inCell)).join("");
    const { tag, props } = node as Element;
    if ((tag as unknown) === Chart) {
      charts.push(props as unknown as ChartProps);
      return `\n${chartLines(props as unknown as ChartProps).join("\n")}\n`;
    }
    if (typeof tag === "function") return textOf(tag(props), inCell);
    elements.push({ tag, props });
    const inside = `${textOf(props.children, inCell || tag === "td")}${told(tag, props)}`;
    // A row is one line.
    if (!INLINE.test(tag) && !inCell) return `\n${inside}\n`;
    return /^[td]/.test(tag) ? ` ${inside} ` : inside;
  };
  const lines = textOf(component(props)).split("\n");
  return { lines: lines.map((line) => line.replace(/\s+/g, " ").trim()).filter((line) => line !== ""), elements, charts };
}

/** The attributes of an element that tell a state, in brackets. */
function told(tag: string, props: Element["props"]): string {
  const names = Object.keys(props).filter((name) => TOLD.test(name) || (name === "class" && /^(i|th|tr)$/.test(tag)));
  const texts = names.flatMap((name) => {
    const value = props[name];
    if (value === undefined || value === false) return [];
    if (name === "style") return placesOf(value as Record<string, string>);
    return name === "class" ? String(value) : `${name}=${value}`;
  });
  return texts.length > 0 ? ` [${texts.join(" ")}]` : "";
}

function placesOf(style: Readonly<Record<string, string>>): string[] {
  return Object.entries(style).map(([name, value]) => `${name.slice(2)} ${value.replace(/[\d.]+/, (digits) => Number(digits).toFixed(2))}`);
}

/** The words of a chart: its summary, its lines, each point, and its table. If it has many points, only the first, the middle and the last. */
function chartLines({ id, title, summary, legend = [], data, describe, table }: ChartProps): string[] {
  const last = data[0].length - 1;
  const points = last < 6 ? Array.from(data[0], (_, i) => i) : [0, Math.floor(last / 2), last];
  const { columns, rows } = table();
  const listed = rows.length < 6 ? rows : [rows[0], rows[rows.length >> 1], rows[rows.length - 1]];
  const numbers = (at: number) =>
    data.map((series) => JSON.stringify(series[at], (_, each) => (typeof each === "number" ? Number(each.toPrecision(6)) : each)));
  return [
    `chart ${id}: ${title}. ${summary}`,
    ...legend.map(({ mark, name }) => `chart ${id} has ${name} [${mark}]`),
    ...points.map((at) => `chart ${id} at ${at}: ${describe(at)} (${numbers(at).join(", ")})`),
    `chart ${id}, ${rows.length} rows of ${columns.join(" | ")}`,
    ...listed.map((row) => `chart ${id}: ${row.join(" | ")}`),
  ];
}
