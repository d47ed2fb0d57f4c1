import { createContext, createElement, type ReactElement, type ReactNode, useContext, useEffect, useMemo, useState } from "react";
import { type Beacon, createBeacon } from "../beacon/beacon.ts";
import { type PageViews, pageViews } from "./page-views.ts";
import { checkTexts, type Worker } from "./request.ts";

/** Props of `<Afterclick>`. */
export interface AfterclickProps {
  /** Address of the worker, such as https://afterclick.example.workers.dev. */
  readonly url: string;
  readonly publishableKey: string;
  readonly model: string;
  /** Whether the visitor has agreed. It may change. Only `true` is consent: without it, nothing is watched, stored, reported or learnt. */
  readonly consent: boolean;
  readonly children?: ReactNode;
}

/** The values that all components of a provider share. */
interface Shared {
  readonly worker: Worker;
  readonly consent: boolean;
  readonly views: PageViews;
  /** Undefined on a server, and until the page is hydrated. */
  readonly beacon?: Beacon;
}

const SharedContext = /* @__PURE__ */ createContext<Shared | undefined>(undefined);

/**
 * Connects an app with a worker: one beacon reports what its visitor sees and clicks.
 *
 * @throws {TypeError} if `url`, `publishableKey` or `model` is missing.
 */
export function Afterclick({ url, publishableKey, model, consent, children }: AfterclickProps): ReactElement {
  checkTexts("<Afterclick>", { url, publishableKey, model });
  const [views] = useState(pageViews);
  const [beacon, setBeacon] = useState<Beacon>();
  useEffect(() => {
    const opened = createBeacon({ url, key: publishableKey, model, consent: false });
    setBeacon(opened);
    return () => opened.close();
  }, [url, publishableKey, model]);
  useEffect(() => beacon?.consent(consent === true), [beacon, consent]);
  const shared = useMemo(
    () => ({ worker: { url, key: publishableKey, model }, consent, views, beacon }),
    [url, publishableKey, model, consent, views, beacon],
  );
  return createElement(SharedContext.Provider, { value: shared }, children);
}

/** @throws {TypeError} if there is no provider. */
export function useShared(place: string): Shared {
  const shared = useContext(SharedContext);
  if (!shared) throw new TypeError(`${place}: expected <Afterclick> around it`);
  return shared;
}
