/** An impression that was seen, or a goal that its visitor reached, and when, in ms since 1970. */
export type Item = readonly [impressionId: string, goal: string | null, at: number];

/** A page may report a goal for this long after the impression, in ms. */
const HOUR_MS = 3_600_000;
/** Most items that wait. Beyond, the oldest are dropped. */
const MOST = 1000;

/** Items that wait for the worker's answer, shared by all tabs of the origin. Without storage they wait in memory. */
export interface Queue {
  all(): readonly Item[];
  add(items: readonly Item[]): void;
  remove(items: readonly Item[]): void;
  clear(): void;
}

export function queueIn(name: string): Queue {
  let held: readonly Item[] | undefined;

  const all = (): readonly Item[] => {
    try {
      // Other tabs change the storage too, so it is read each time.
      const items = held ?? JSON.parse(localStorage.getItem(name) ?? "[]");
      return items.filter(([, , at]: Item) => Math.abs(Date.now() - at) < HOUR_MS);
    } catch {
      return [];
    }
  };
  const keep = (items: readonly Item[]): void => {
    try {
      if (items.length) localStorage.setItem(name, JSON.stringify(items));
      else localStorage.removeItem(name);
      held = undefined;
    } catch {
      held = items;
    }
  };

  return {
    all,
    add: (items) => keep([...all(), ...items].slice(-MOST)),
    remove: (items) => {
      const gone = items.map(nameOf);
      keep(all().filter((item) => !gone.includes(nameOf(item))));
    },
    clear: () => keep([]),
  };
}

/** Two items with one name are the same event. */
export const nameOf = ([impressionId, goal]: Item): string => `${impressionId} ${goal ?? ""}`;
