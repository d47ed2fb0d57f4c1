/** @jsxImportSource react */
// A page of a shop that the tests drive: `show` renders it with other props.
import { Afterclick, Impression, type RecommendationsOptions, useRecommendations } from "afterclick/react";
import { type ComponentPropsWithRef, type ReactNode, StrictMode, useRef } from "react";
import { createPortal } from "react-dom";
import { createRoot, hydrateRoot } from "react-dom/client";
import { renderToString } from "react-dom/server.browser";

const products = ["boots", "hat", "scarf"].map((id) => ({ id, title: `The ${id}` }));
type Options = Partial<RecommendationsOptions<(typeof products)[number]>>;

export interface Props {
  readonly url: string;
  readonly publishableKey: string;
  readonly model: string;
  readonly consent: boolean;
  /** A list for each entry. */
  readonly lists: readonly (Options & { readonly goal?: string | null; readonly portal?: boolean })[];
}

/** A component instead of an element. */
const Card = (props: ComponentPropsWithRef<"li">): ReactNode => <li {...props} data-card="" />;

function List({ goal, portal, ...options }: Props["lists"][number]): ReactNode {
  const { items, status, error } = useRecommendations({ fallback: products, ...options });
  const first = useRef<HTMLLIElement>(null);
  const mark = (): void => void first.current?.setAttribute("data-first", "");
  const list = (
    <section data-status={status} data-error={error?.message}>
      <ul>
        {items.map((item, place) => (
          <Impression key={item.id} of={item} as={portal ? Card : "li"} goal={goal} ref={place === 0 ? first : undefined} className="card">
            <a href="#product">{item.isPlaceholder ? "..." : item.title}</a>
            <p onPointerDown={mark}>{item.impressionId}</p>
          </Impression>
        ))}
      </ul>
    </section>
  );
  return portal ? createPortal(list, document.body) : list;
}

const app = ({ lists, ...provider }: Props): ReactNode => (
  <StrictMode>
    <Afterclick {...provider}>
      {lists.map((list, place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a list has no other name.
        <List key={place} {...list} />
      ))}
    </Afterclick>
  </StrictMode>
);

let props: Props;
let root: ReturnType<typeof createRoot> | undefined;
Object.assign(globalThis, {
  /** Renders the page with these props instead of the last ones. */
  show(changes: Partial<Props>): void {
    props = { ...props, ...changes };
    root ??= createRoot(document.querySelector("main") as HTMLElement);
    root.render(app(props));
  },
  /** Renders the page as a server does, and hydrates it. */
  hydrate(given: Props): void {
    props = given;
    const main = document.querySelector("main") as HTMLElement;
    main.innerHTML = renderToString(app(props));
    Object.assign(globalThis, { rendered: main.innerHTML });
    root = hydrateRoot(main, app(props));
  },
  /** What rendering throws, as text. */
  thrown(given: Partial<Props>, alone?: boolean): string {
    try {
      renderToString(alone ? <List /> : app({ ...props, ...given }));
      return "nothing";
    } catch (error) {
      return String(error);
    }
  },
});
