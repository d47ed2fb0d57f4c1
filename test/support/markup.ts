import type { ChartProps } from "../../pages/ui/chart.tsx";
import { Chart } from "../../pages/ui/chart.tsx";

interface Element {
  readonly tag: string | ((props: object) => unknown);
  readonly props: { readonly children?: unknown; readonly [name: string]: unknown };
}

/** The first rendering of a component. */
export interface Drawn {
  /** The text, in the order of the page. */
  readonly text: string;
  /** The elements, with components resolved. */
  readonly elements: readonly Element[];
  /** The props of its charts, which are not drawn. */
  readonly charts: readonly ChartProps[];
}

/** Renders a component without a page. Hooks return their initial values, and effects do not run. */
export function drawn<Props extends object>(component: (props: Props) => unknown, props: Props): Drawn {
  const elements: Element[] = [];
  const charts: ChartProps[] = [];
  const textOf = (node: unknown): string => {
    if (node === null || node === undefined || typeof node === "boolean") return "";
    if (typeof node === "string" || typeof node === "number") return String(node);
    if (Array.isArray(node)) return node.map(textOf).join("");
    const { tag, props } = node as Element;
    if ((tag as unknown) === Chart) {
      charts.push(props as unknown as ChartProps);
      return "";
    }
    if (typeof tag === "function") return textOf(tag(props));
    elements.push({ tag, props });
    const inside = textOf(props.children);
    return /^(small|b|i|span|strong|a)$/.test(tag) ? inside : ` ${inside} `;
  };
  const text = textOf(component(props)).replace(/\s+/g, " ").trim();
  return { text, elements, charts };
}
