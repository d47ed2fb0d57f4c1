/** Merges rows by their numbers. Each source is in order already, and is read one row ahead. */
export function* inOrder<Row extends { readonly seq: number }>(...sources: readonly Iterable<Row>[]): Generator<Row> {
  let heads = sources.flatMap((source) => headOf(source[Symbol.iterator]()));
  while (heads.length > 0) {
    const least = heads.reduce((a, b) => (b.row.seq < a.row.seq ? b : a));
    yield least.row;
    const { done, value } = least.rest.next();
    if (done) heads = heads.filter((head) => head !== least);
    else least.row = value;
  }
}

/** The first row of a source, and the rows after it. */
function headOf<Row>(rest: Iterator<Row>): { row: Row; readonly rest: Iterator<Row> }[] {
  const { done, value } = rest.next();
  return done ? [] : [{ row: value, rest }];
}
