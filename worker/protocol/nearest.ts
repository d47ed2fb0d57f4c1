/** Longer names are not compared, because the cost grows with the product of both lengths. */
const MOST_CHARACTERS = 32;

/** The name that was probably meant: one within a third of its letters, whatever the case and the separators. */
export function nearest(name: string, names: Iterable<string>): string | undefined {
  if (name.length > MOST_CHARACTERS) return undefined;
  const meant = plain(name);
  let best: string | undefined;
  let least = Math.max(1, Math.floor(meant.length / 3)) + 1;
  for (const each of names) {
    if (Math.abs(each.length - name.length) > MOST_CHARACTERS / 3) continue;
    const edits = distance(meant, plain(each));
    if (edits < least) [best, least] = [each, edits];
  }
  return best;
}

/** The end of a sentence that names the probable name, or nothing. */
export function didYouMean(name: string, names: Iterable<string>): string {
  const meant = nearest(name, names);
  return meant === undefined ? "" : `; did you mean ${JSON.stringify(meant)}?`;
}

const plain = (name: string): string => name.toLowerCase().replaceAll(/[-_. ]/g, "");

/** Levenshtein distance: insertions, deletions and replacements. */
function distance(a: string, b: string): number {
  const row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    let diagonal = row[0];
    row[0] = i;
    for (let j = 1; j <= b.length; j++) {
      const replaced = diagonal + Number(a[i - 1] !== b[j - 1]);
      diagonal = row[j];
      row[j] = Math.min(replaced, row[j] + 1, row[j - 1] + 1);
    }
  }
  return row[b.length];
}
