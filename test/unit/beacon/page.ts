import { vi } from "vitest";

/** An element that can be clicked and watched. */
export class PageElement extends EventTarget {
  readonly isLink: boolean;
  constructor({ isLink = false } = {}) {
    super();
    this.isLink = isLink;
  }
  matches(selector: string): boolean {
    return this.isLink && selector === ":any-link";
  }
  click(type = "click", button = 0): void {
    this.dispatchEvent(Object.assign(new Event(type), { button }));
  }
}

/** The part of one element that is visible. */
export interface Look {
  readonly share: number;
  readonly heightPx?: number;
  /** `null` if the element is in a frame of another origin. */
  readonly windowPx?: number | null;
}

class Observer {
  readonly watched = new Set<EventTarget>();
  readonly look: (entries: readonly object[]) => void;
  readonly options: object;
  constructor(look: (entries: readonly object[]) => void, options: object) {
    this.look = look;
    this.options = options;
    page.observers.push(this);
  }
  observe(element: EventTarget): void {
    this.watched.add(element);
  }
  unobserve(element: EventTarget): void {
    this.watched.delete(element);
  }
  disconnect(): void {
    this.watched.clear();
  }
}

type Answer = (body: Body, signal: AbortSignal) => Promise<Response>;
/** The body of a report. */
export interface Body {
  readonly key: string;
  readonly model?: string;
  readonly seen: readonly string[];
  readonly reached: readonly { readonly impressionId: string; readonly goal: string }[];
}

/** A page in a browser, as far as the beacon knows it: storage, events, observers and requests. */
class Page {
  readonly events = new EventTarget();
  readonly stored = new Map<string, string>();
  readonly observers: Observer[] = [];
  readonly requests: { readonly url: string; readonly init: RequestInit; readonly body: Body }[] = [];
  readonly beacons: { readonly url: string; readonly body: Body }[] = [];
  readonly document = { hidden: false };
  storageIsFull = false;
  answer: Answer = async () => new Response(null, { status: 202 });

  /** The observer that is at work. */
  get observer(): Observer | undefined {
    return this.observers.at(-1);
  }
  get observed(): readonly EventTarget[] {
    return [...(this.observer?.watched ?? [])];
  }
  /** Tells the observer what an element shows, if it watches it. */
  show(element: EventTarget, { share, heightPx = 0, windowPx = 1000 }: Look): void {
    if (!this.observed.includes(element)) return;
    const rootBounds = windowPx === null ? null : { height: windowPx };
    this.observer?.look([{ target: element, intersectionRatio: share, intersectionRect: { height: heightPx }, rootBounds }]);
  }
  hide(hidden: boolean): void {
    this.document.hidden = hidden;
    this.happens("visibilitychange");
  }
  happens(event: string): void {
    this.events.dispatchEvent(new Event(event));
  }
}

export let page: Page;

/** Opens an empty page, with a clock that stands still, in place of the globals of a browser. */
export function openPage(): void {
  vi.useFakeTimers({ now: 1_700_000_000_000 });
  page = new Page();
  vi.stubGlobal("localStorage", {
    getItem: (name: string) => page.stored.get(name) ?? null,
    setItem(name: string, value: string) {
      if (page.storageIsFull) throw new DOMException("full", "QuotaExceededError");
      page.stored.set(name, value);
    },
    removeItem: (name: string) => void page.stored.delete(name),
  });
  vi.stubGlobal("addEventListener", page.events.addEventListener.bind(page.events));
  vi.stubGlobal("document", page.document);
  vi.stubGlobal("IntersectionObserver", Observer);
  vi.stubGlobal("navigator", {
    sendBeacon(url: string, body: string) {
      page.beacons.push({ url, body: JSON.parse(body) });
      return true;
    },
  });
  vi.stubGlobal("fetch", (url: string, init: RequestInit) => {
    const body: Body = JSON.parse(init.body as string);
    page.requests.push({ url, init, body });
    return page.answer(body, init.signal as AbortSignal);
  });
}

export function closePage(): void {
  vi.unstubAllGlobals();
  vi.useRealTimers();
}
