import type { Entry } from "./components.ts";
import type { NamedFeatures } from "./terms.ts";

/**
 * Lists the numbers and the categories of a catalogue, for the option `vocabulary` of an encoder, which gives each category a component
 * of its own.
 *
 * A grown catalogue extends its vocabulary: the entries so far keep their places. New entries follow: numbers, then the categories of
 * most actions, because they matter most if the components do not suffice.
 *
 * @example
 * const products = [{ id: "mug", brand: "Acme" }, { id: "cup", brand: "Acme" }];
 * encoder({ dimension: 64, vocabulary: vocabularyOf(products) });
 * @param before the vocabulary to extend.
 */
export function vocabularyOf(actions: readonly NamedFeatures[], before: readonly Entry[] = []): Entry[] {
  const known = new Set(before.map(textOf));
  const counts = new Map<string, { readonly entry: Entry; actions: number }>();
  for (const action of actions) {
    for (const entry of entriesOf(action)) {
      const text = textOf(entry);
      if (known.has(text)) continue;
      const count = counts.get(text) ?? { entry, actions: 0 };
      counts.set(text, count);
      count.actions++;
    }
  }
  const added = Array.from(counts.values()).sort(
    (a, b) => a.entry.length - b.entry.length || b.actions - a.actions || (textOf(a.entry) < textOf(b.entry) ? -1 : 1),
  );
  return [...before, ...added.map(({ entry }) => entry)];
}

function* entriesOf(action: NamedFeatures): Generator<Entry> {
  for (const [feature, value] of Object.entries(action)) {
    if (typeof value === "number") yield [feature];
    else for (const category of new Set(Array.isArray(value) ? value : [value])) yield [feature, String(category)];
  }
}

/** Names an entry. */
export function textOf(entry: Entry): string {
  return JSON.stringify(entry);
}
