// Reports of a page to a worker. It must stay small, so it imports nothing of the SDK.

import { onClick } from "./click.ts";
import { type Item, nameOf, queueIn } from "./queue.ts";
import { visibility } from "./visibility.ts";

export interface BeaconOptions {
  /** Address of the worker, such as https://afterclick.example.workers.dev. */
  readonly url: string;
  /** A publishable key. */
  readonly key: string;
  /** The worker refuses impressions of any other model. Default: of any model. */
  readonly model?: string;
  /** Whether the visitor has agreed. Without it, nothing is watched, stored or sent until `consent(true)`. Default: true. */
  readonly consent?: boolean;
}

/** Reports to a worker which impressions a visitor saw, and which public goals the visitor reached. Each counts once. */
export interface Beacon {
  /** Reports an impression once its element has been half visible for a second. Returns a function that stops watching. */
  seen(element: Element, impressionId: string): () => void;
  /** Reports a goal, now. Its impression counts as seen too. */
  reached(impressionId: string, goal: string): void;
  /** Reports a goal at each click on an element. Returns a function that stops listening. */
  clicked(element: Element, impressionId: string, goal?: string): () => void;
  /** Notes the visitor's choice. Without consent, everything that waits is deleted. */
  consent(given: boolean): void;
  /** Sends what waits. The promise resolves after one attempt, with or without success. */
  flush(): Promise<void>;
  /** Stops watching and sending, for good. What waits is sent by the next page. */
  close(): void;
}

/** Most items in one request. */
const MOST = 100;
/** Items are gathered for this long, in ms. */
const GATHER_MS = 500;
const FIRST_RETRY_MS = 2000;
const LAST_RETRY_MS = 300_000;
/** Refusals of the content, which would not change. */
const FINAL = [400, 413, 422];
/** The worker's answer to a report that it has taken. A site may answer any address with a page. */
const TAKEN = 202;

/** Starts a beacon in a page. What an earlier page could not send is sent first. */
export function createBeacon({ url, key, model, consent: given = true }: BeaconOptions): Beacon {
  const address = `${url.replace(/\/$/, "")}/v1/shown`;
  // A beacon of one model must not send items of another, which the worker would refuse for good.
  const queue = queueIn(`afterclick ${address} ${model ?? ""}`.trim());
  const view = visibility();
  const noted = new Set<string>();
  const page = new AbortController();
  let agreed = false;
  let request = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  /** Status of the last answer. */
  let answered = TAKEN;
  let retryMs = FIRST_RETRY_MS;
  /** Whether beacons have what waits. A page that is left is hidden too, and sends them once. */
  let left = false;
  let sending: Promise<void> | undefined;

  const bodyOf = (items: readonly Item[]): string =>
    JSON.stringify({
      key,
      model,
      seen: items.flatMap(([impressionId, goal]) => (goal ? [] : impressionId)),
      reached: items.flatMap(([impressionId, goal]) => (goal ? { impressionId, goal } : [])),
    });

  /** Whether the items are settled: taken, or refused for good. */
  const deliver = async (items: readonly Item[]): Promise<boolean> => {
    const response = await fetch(address, {
      method: "POST",
      body: bodyOf(items),
      keepalive: true,
      credentials: "omit",
      // A redirection turns the POST into a GET. A page gets 0 as its status.
      redirect: "manual",
      signal: request.signal,
    }).catch(() => undefined);
    if (!response) return false;
    const { status } = response;
    // No cache takes the answer, and one that nobody reads keeps its connection.
    const text = await response.text().catch(() => "");
    const isFinal = FINAL.includes(status);
    if (isFinal && items.length > 1) {
      // One malformed item spoils a request, so each half is sent alone.
      const half = items.length >> 1;
      return (await deliver(items.slice(0, half))) && deliver(items.slice(half));
    }
    // 429 and 5xx pass by themselves.
    if (status !== answered && status !== TAKEN && status < 429) {
      console.error(`afterclick: ${address} answered ${status || "with a redirection"}: check url, key and model. ${text.slice(0, 200)}`);
    }
    answered = status;
    const settled = status === TAKEN || isFinal;
    if (settled) queue.remove(items);
    return settled;
  };

  const soon = (ms: number): void => {
    clearTimeout(timer);
    if (agreed) timer = setTimeout(flush, ms);
  };

  const send = async (): Promise<void> => {
    const items = queue.all();
    let settled = true;
    for (let i = 0; settled && i < items.length; i += MOST) settled = await deliver(items.slice(i, i + MOST));
    if (queue.all().length) soon(settled ? 0 : retryMs);
    retryMs = settled ? FIRST_RETRY_MS : Math.min(2 * retryMs, LAST_RETRY_MS);
  };

  const flush = async (): Promise<void> => {
    if (agreed) {
      sending ??= send().finally(() => {
        sending = undefined;
      });
    }
    await sending;
  };

  const note = (...items: readonly Item[]): void => {
    const fresh = items.filter((item) => item[0] && !noted.has(nameOf(item)));
    if (!agreed || !fresh.length) return;
    for (const item of fresh) noted.add(nameOf(item));
    queue.add(fresh);
    left = false;
    soon(GATHER_MS);
  };

  const reached = (impressionId: string, goal: string): void => {
    const at = Date.now();
    note([impressionId, null, at], [impressionId, goal, at]);
  };

  /** A beacon may get lost, so its items wait until an answer says that they arrived. */
  const leave = (): void => {
    const items = agreed && !left ? queue.all() : [];
    left = true;
    for (let i = 0; i < items.length; i += MOST) navigator.sendBeacon(address, bodyOf(items.slice(i, i + MOST)));
  };

  const consent = (now: boolean): void => {
    if (now === agreed || page.signal.aborted) return;
    agreed = now;
    if (now) {
      // A page that is rendered ahead is hidden until its visitor opens it.
      if (!document.hidden) view.start();
      soon(0);
    } else {
      view.stop();
      clearTimeout(timer);
      request.abort();
      request = new AbortController();
      queue.clear();
      noted.clear();
    }
  };

  addEventListener("online", () => soon(0), page);
  addEventListener("pagehide", leave, page);
  const turn = (): void => {
    if (!agreed) return;
    if (document.hidden) {
      view.stop();
      leave();
    } else {
      left = false;
      view.start();
      soon(0);
    }
  };
  addEventListener("visibilitychange", turn, page);
  // Anything else is no consent.
  consent(given === true);

  return {
    seen: (element, impressionId) => view.watch(element, () => note([impressionId, null, Date.now()])),
    reached,
    clicked: (element, impressionId, goal = "click") => onClick(element, () => reached(impressionId, goal)),
    consent,
    flush,
    close() {
      agreed = false;
      view.stop();
      clearTimeout(timer);
      page.abort();
    },
  };
}
