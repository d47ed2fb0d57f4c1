import { render } from "hono/jsx/dom";
import { jsx } from "hono/jsx/dom/jsx-runtime";
import { vi } from "vitest";

/** A node of a page without layout and style. It holds children, attributes and listeners. */
export class PlainNode extends EventTarget {
  readonly nodeName: string;
  parentNode: PlainNode | null = null;
  childNodes: PlainNode[] = [];
  readonly attributes = new Map<string, string>();
  readonly style = {
    cssText: "",
    setProperty: (name: string, value: string) => this.style.placed.set(name, value),
    placed: new Map<string, string>(),
  };
  focused = false;
  text = "";

  constructor(name: string, text = "") {
    super();
    this.nodeName = name.toUpperCase();
    this.text = text;
  }

  set textContent(text: string) {
    this.text = text;
  }
  setAttribute(name: string, value: unknown): void {
    this.attributes.set(name, String(value));
  }
  getAttribute(name: string): string | null {
    return this.attributes.get(name) ?? null;
  }
  removeAttribute(name: string): void {
    this.attributes.delete(name);
  }
  focus(): void {
    this.focused = true;
  }
  remove(): void {
    const siblings = this.parentNode?.childNodes ?? [];
    if (this.parentNode) siblings.splice(siblings.indexOf(this), 1);
    this.parentNode = null;
  }
  insertBefore(node: PlainNode, next: PlainNode | null): void {
    const nodes = node.nodeName === "#FRAGMENT" ? [...node.childNodes] : [node];
    for (const each of nodes) {
      each.remove();
      this.childNodes.splice(next ? this.childNodes.indexOf(next) : this.childNodes.length, 0, each);
      each.parentNode = this;
    }
  }
  appendChild(node: PlainNode): void {
    this.insertBefore(node, null);
  }
  replaceChildren(node: PlainNode): void {
    for (const child of [...this.childNodes]) child.remove();
    this.appendChild(node);
  }
  /** All elements below, in the order of the page. */
  get all(): PlainNode[] {
    return this.childNodes.flatMap((child) => [child, ...child.all]);
  }
}

/** The text of a node. Blocks stand apart, as on the page. */
function textOf(node: PlainNode): string {
  const inside = node.text + node.childNodes.map(textOf).join("");
  return /^(#TEXT|SMALL|B|I|SPAN|STRONG|A)$/.test(node.nodeName) ? inside : ` ${inside} `;
}

/** A page in which a component is mounted. */
export interface Mounted {
  /** The text of the page, with single spaces. */
  text(): string;
  /** The elements with this tag. */
  all(tag: string): readonly PlainNode[];
  /** The element with this tag whose text or attribute `name`, `id` or `aria-label` is `name`. */
  one(tag: string, name: string): PlainNode;
  /** Sends an event, after it has set `properties` of the element. Resolves when the page is drawn again. Returns the event. */
  send(element: PlainNode, type: string, properties?: object): Promise<Event>;
}

/** Stubs the globals of a page for a component that is mounted. `vi.unstubAllGlobals` takes them back. */
export function stubPage(globals: Readonly<Record<string, unknown>> = {}): void {
  const document = Object.assign(new EventTarget(), {
    hidden: false,
    createElement: (name: string) => new PlainNode(name),
    createElementNS: (_: string, name: string) => new PlainNode(name),
    createTextNode: (text: string) => new PlainNode("#text", text),
    createDocumentFragment: () => new PlainNode("#fragment"),
  });
  const unseen = class {
    observe(): void {}
    disconnect(): void {}
  };
  const all = { document, ResizeObserver: unseen, SVGElement: class {}, requestAnimationFrame: queueMicrotask };
  const events = { addEventListener: vi.fn(), removeEventListener: vi.fn(), matchMedia: () => new EventTarget() };
  for (const [name, value] of Object.entries({ ...all, ...events, ...globals })) vi.stubGlobal(name, value);
}

/** Renders a component with its hooks and its effects into a page that `stubPage` has made. Charts are not painted. */
export async function mounted<Props extends object>(component: (props: Props) => unknown, props: Props): Promise<Mounted> {
  const body = new PlainNode("body");
  render(jsx(component as never, props, undefined) as never, body as never);
  await drawnAgain();
  return pageIn(body);
}

/** The page in an element. */
export function pageIn(body: PlainNode): Mounted {
  const all = (tag: string) => body.all.filter(({ nodeName }) => nodeName === tag.toUpperCase());
  const names = (node: PlainNode) => [textOf(node).trim(), ...["name", "id", "aria-label"].map((name) => node.getAttribute(name))];
  return {
    text: () => textOf(body).replace(/\s+/g, " ").trim(),
    all,
    one(tag, name) {
      const found = all(tag).filter((node) => names(node).includes(name));
      if (found.length !== 1) throw new Error(`expected one ${tag} called ${name}, found ${found.length}`);
      return found[0];
    },
    async send(element, type, properties = {}) {
      Object.assign(element, properties);
      // Hono reads the detail of a form's events that no reader caused.
      const event = new CustomEvent(type, { cancelable: true, detail: {} });
      element.dispatchEvent(event);
      await drawnAgain();
      return event;
    },
  };
}

/** Resolves when updates, effects and settled promises of a page are through. */
export async function drawnAgain(): Promise<void> {
  for (let i = 0; i < 30; i++) await Promise.resolve();
}
