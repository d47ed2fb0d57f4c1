"use client";
import { Impression, useRecommendations } from "afterclick/react";

const fallback = ["boots", "hat", "scarf"].map((id) => ({ id, title: `The ${id}` }));

export function List({ initial }) {
  const { items, status } = useRecommendations({ fallback, initial });
  return (
    <ul data-status={status}>
      {items.map((item) => (
        <Impression key={item.id} of={item} as="li" style={{ height: 40 }}>
          <a href="#product">{item.title}</a>
        </Impression>
      ))}
    </ul>
  );
}
