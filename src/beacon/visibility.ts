/** An element is seen once half of it, or half of the window, has been visible for this long, in ms. */
const SEEN_MS = 1000;
/** Shares of an element at which the browser looks again. A tall element never shows half of itself. */
const SHARES = Array.from({ length: 11 }, (_, i) => i / 10);

interface Watch {
  readonly seen: () => void;
  timer?: ReturnType<typeof setTimeout>;
}

/** Tells when elements have been seen. Nothing is watched until `start`, and nothing while the page is hidden. */
export interface Visibility {
  /** Calls back once. Returns a function that stops watching. */
  watch(element: Element, seen: () => void): () => void;
  start(): void;
  stop(): void;
}

export function visibility(): Visibility {
  const watches = new Map<Element, Watch>();
  let observer: IntersectionObserver | undefined;

  const hide = (watch: Watch): void => {
    clearTimeout(watch.timer);
    watch.timer = undefined;
  };
  const forget = (element: Element): void => {
    clearTimeout(watches.get(element)?.timer);
    watches.delete(element);
    observer?.unobserve(element);
  };
  const look = (entries: readonly IntersectionObserverEntry[]): void => {
    for (const { target, intersectionRatio, intersectionRect, rootBounds } of entries) {
      const watch = watches.get(target);
      if (!watch) continue;
      const isVisible = intersectionRatio >= 0.5 || (rootBounds && intersectionRect.height >= rootBounds.height / 2);
      if (!isVisible) hide(watch);
      else
        watch.timer ??= setTimeout(() => {
          forget(target);
          watch.seen();
        }, SEEN_MS);
    }
  };

  return {
    watch(element, seen) {
      forget(element);
      const watch = { seen };
      watches.set(element, watch);
      observer?.observe(element);
      return () => {
        if (watches.get(element) === watch) forget(element);
      };
    },
    start() {
      observer ??= new IntersectionObserver(look, { threshold: SHARES });
      for (const element of watches.keys()) observer.observe(element);
    },
    stop() {
      observer?.disconnect();
      observer = undefined;
      watches.forEach(hide);
    },
  };
}
