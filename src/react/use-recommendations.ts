// The list of a page view: given by the server, or asked for once the page is there. Nothing is asked while rendering.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { useShared } from "./provider.ts";
import { type Answer, ask, type Question } from "./request.ts";

/** A product of the shop, or its id alone. */
type Listed = string | { readonly id: string };

/** An item of a list: the shop's own product, and its impression. */
export type Item<P extends Listed> = (P extends string ? { readonly id: P } : P) & {
  /** Carry it to the order. Absent if the worker did not recommend the item. */
  readonly impressionId?: string;
  /** The list is being asked for, and another product may come to this place. */
  readonly isPlaceholder?: true;
};

/** Options of `useRecommendations`, besides the fields of its question. */
export interface RecommendationsOptions<P extends Listed> extends Question {
  /** The shop's own list in its own order: ids, or products with an `id`. Recommended ids that it lacks are dropped. */
  readonly fallback: readonly P[];
  /** What `recommendations` of `afterclick/react/server` has answered for this page view. The page then asks nothing. */
  readonly initial?: Answer | undefined;
  /** Name of the page view. Default: path and query of the page's address. */
  readonly view?: string;
  /** The shop's own list is shown after this long, in ms. Default: 1,000. */
  readonly timeoutMs?: number;
}

/** The list of a page view. */
export interface Recommendations<P extends Listed> {
  /** While it is loading: as many placeholders as items will come. */
  readonly items: readonly Item<P>[];
  /** `fallback`: the items are the shop's own list. */
  readonly status: "loading" | "ready" | "fallback";
  /** Why the items are the shop's own list. */
  readonly error?: Error;
}

/** React on a server warns of layout effects before version 19. */
const useBeforePaint = typeof document === "undefined" ? useEffect : useLayoutEffect;

/** Objects with equal fields are equal, in whichever order the fields are. */
const sorted = (_: string, value: unknown): unknown =>
  value && typeof value === "object" && !Array.isArray(value) ? Object.fromEntries(Object.entries(value).sort()) : value;

/**
 * Asks for a list, once in a page view, and not before `fallback` has a product. A failure shows the shop's own list.
 *
 * @throws {TypeError} if `fallback` is no list of ids or products, or if there is no `<Afterclick>` around it.
 */
export function useRecommendations<P extends Listed>(options: RecommendationsOptions<P>): Recommendations<P> {
  const { fallback, initial, view, timeoutMs, ...rest } = options;
  if (!Array.isArray(fallback)) throw new TypeError(`useRecommendations: fallback: expected a list of ids or products, got ${fallback}`);
  const question = { ...rest, limit: rest.limit ?? Math.min(fallback.length, 100) };
  const { worker, consent, views } = useShared("useRecommendations");
  const asked = JSON.stringify([worker, question], sorted);

  // The server's answer is one to the question with which it came.
  const came = JSON.stringify(initial);
  const [given, setGiven] = useState({ came, asked });
  if (given.came !== came) setGiven({ came, asked });
  const isGiven = initial !== undefined && given.asked === asked;

  const [known, setKnown] = useState<{ readonly asked: string; readonly answer?: Answer }>({ asked });
  const opened = useRef<{ readonly name?: string; readonly close: () => void }>(undefined);
  useBeforePaint(() => {
    // A router may change the address after it has rendered a page, so the address is read here.
    const name = isGiven || fallback.length === 0 ? undefined : `${view ?? location.pathname + location.search} ${asked}`;
    if (opened.current?.name === name) return;
    opened.current?.close();
    opened.current = undefined;
    if (name === undefined) return;
    const close = views.open(
      name,
      (request) => ask(worker, question, { consent, timeoutMs }, request),
      (answer) => setKnown((last) => (last.asked === asked && last.answer === answer ? last : { asked, answer })),
    );
    opened.current = { name, close };
  });
  useBeforePaint(() => {
    return () => {
      opened.current?.close();
      opened.current = undefined;
    };
  }, []);

  const answer = isGiven ? initial : known.asked === asked ? known.answer : undefined;
  return useMemo(() => shown(fallback, question.limit, answer), [fallback, question.limit, answer]);
}

/** The items of an answer, or placeholders without one. */
function shown<P extends Listed>(fallback: readonly P[], limit: number, answer: Answer | undefined): Recommendations<P> {
  const products = fallback.map((product) => (typeof product === "string" ? { id: product } : product) as Item<P>);
  const own = products.slice(0, limit);
  if (!answer) return { items: own.map((product) => ({ ...product, isPlaceholder: true })), status: "loading" };
  const byId = new Map(products.map((product) => [product.id, product]));
  const items = answer.actions.flatMap(({ id, impressionId }): Item<P>[] => {
    const product = byId.get(id);
    return product ? [{ ...product, impressionId }] : [];
  });
  if (items.length > 0) return { items, status: "ready" };
  return { items: own, status: "fallback", error: new Error(answer.error ?? "the worker recommended no product of `fallback`") };
}
