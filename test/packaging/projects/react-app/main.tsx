import { Afterclick, Impression, type Item, useRecommendations } from "afterclick/react";
import { recommendations } from "afterclick/react/server";
import { type ReactNode, StrictMode, useRef, version } from "react";
import { createRoot } from "react-dom/client";

interface Product {
  readonly id: string;
  readonly title: string;
}
const products: readonly Product[] = ["boots", "hat", "scarf"].map((id) => ({ id, title: `The ${id}` }));

function List(): ReactNode {
  const first = useRef<HTMLLIElement>(null);
  const { items, status, error } = useRecommendations({ fallback: products, context: { major: Number.parseInt(version, 10) } });
  const card = (item: Item<Product>, place: number) => (
    <Impression key={item.id} of={item} as="li" ref={place === 0 ? first : null} style={{ height: 40 }}>
      <a href="#product">{item.isPlaceholder ? "..." : item.title}</a>
    </Impression>
  );
  return (
    <ul data-status={status} title={error?.message}>
      {items.map(card)}
    </ul>
  );
}

const url = new URLSearchParams(location.search).get("worker") ?? "";
createRoot(document.querySelector("main") as HTMLElement).render(
  <StrictMode>
    <Afterclick url={url} publishableKey="pk" model="shop" consent>
      <List />
    </Afterclick>
  </StrictMode>,
);

/** What the types refuse. It is not run. */
export function refused(): readonly ReactNode[] {
  // @ts-expect-error: a list has a fallback.
  const { items } = useRecommendations<Product>({ context: { country: "PT" } });
  // @ts-expect-error: a server asks for a number of items.
  recommendations({ url, key: "sk", model: "shop", consent: true });
  // @ts-expect-error: a product has no brand.
  const brands = items.map(({ brand }) => brand);
  return [
    ...brands,
    // @ts-expect-error: a list item has no address.
    <Impression key="a" of={{}} as="li" href="/" />,
    <Impression key="b" of={{}} as="a" href="/" goal={null} onClick={({ currentTarget }) => currentTarget.href} />,
    // @ts-expect-error: an impression is one of an item.
    <Impression key="c" />,
  ];
}
