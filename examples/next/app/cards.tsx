"use client";
import { type Answer, Impression, useRecommendations } from "afterclick/react";

/** The shop's own order. */
const products = [
  { id: "boots", title: "Winter boots", price: 129 },
  { id: "hat", title: "Felt hat", price: 19.99 },
  { id: "scarf", title: "Long scarf", price: 34.5 },
];

export function Cards({ initial, shop }: { initial: Answer; shop: string }) {
  const { items, status } = useRecommendations({ fallback: products, initial });
  return (
    <ul className="cards" data-status={status}>
      {items.map((item) => (
        <Impression key={item.id} of={item} as="li">
          <h2>
            <a href={`${shop}/products/${item.id}?impression=${item.impressionId ?? ""}`}>{item.title}</a>
          </h2>
          <p>{item.price.toFixed(2)} EUR</p>
        </Impression>
      ))}
    </ul>
  );
}
