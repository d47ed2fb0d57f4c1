/** @jsxImportSource react */
// A shop in React that shows three products which the worker recommends, and reports what its visitor sees and clicks.
//
//   npm install "$TARBALL" react react-dom vite
//   set -a; . ./.dev.vars; set +a; npx vite
import { Afterclick, Impression, useRecommendations } from "afterclick/react";
import { StrictMode, useState } from "react";
import { createRoot } from "react-dom/client";
import { products } from "./products.ts";

/** From vite.config.ts. */
declare const WORKER: { readonly url: string; readonly publishableKey: string; readonly model: string };
declare const SHOP_URL: string;

/** Another context is another question, so this one stays when the window changes. */
const context = { device: innerWidth < 600 ? "phone" : "desktop" };

function Recommended() {
  const { items, status } = useRecommendations({ fallback: products, context, limit: 3 });
  return (
    <ul className="cards" aria-busy={status === "loading"} data-status={status}>
      {items.map((item) => (
        <Impression key={item.id} of={item} as="li" className={item.isPlaceholder && "skeleton"}>
          {!item.isPlaceholder && (
            <>
              <h2>
                <a href={`${SHOP_URL}/products/${item.id}?impression=${item.impressionId ?? ""}`}>{item.title}</a>
              </h2>
              <p>{item.price.toFixed(2)} EUR</p>
            </>
          )}
        </Impression>
      ))}
    </ul>
  );
}

function Shop() {
  // The answer is known before the list is asked for.
  const [consent, setConsent] = useState(() => localStorage.getItem("consent") === "yes");
  const choose = (given: boolean) => {
    localStorage.setItem("consent", given ? "yes" : "no");
    setConsent(given);
  };
  return (
    <Afterclick {...WORKER} consent={consent}>
      <main>
        <h1>Recommended</h1>
        <Recommended />
        <p>{consent ? "What you open improves what we recommend." : "May what you open improve what we recommend?"}</p>
        <button type="button" onClick={() => choose(!consent)}>
          {consent ? "Stop that" : "Yes"}
        </button>
      </main>
    </Afterclick>
  );
}

createRoot(document.querySelector("#app") as HTMLElement).render(
  <StrictMode>
    <Shop />
  </StrictMode>,
);
