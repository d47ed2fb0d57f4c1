import type { Child } from "hono/jsx";

/** Names of marks, in order of drawing. Each is a class. */
const MARKS = ["waits", "zero", "band", "before", "taste", "mean", "score"] as const;

/** A value, or the ends of an interval. */
type Place = number | readonly [low: number, high: number];

/** Marks on a line. `at` maps a value to a position in CSS. A mark without a value is left out. */
export function Marks({ at, ...values }: { at: (value: number) => string } & { readonly [name in (typeof MARKS)[number]]?: Place }) {
  const styleOf = (place: Place) => (typeof place === "number" ? { "--at": at(place) } : { "--low": at(place[0]), "--high": at(place[1]) });
  return (
    <div>
      {MARKS.map((mark) => {
        const place = values[mark];
        return place !== undefined && <i key={mark} class={mark} style={styleOf(place)} />;
      })}
    </div>
  );
}

/** The meaning of each mark, which is named by its class. */
export function Legend(props: { entries: readonly { readonly mark: string; readonly name: string }[]; children?: Child }) {
  return (
    <ul class="legend">
      {props.entries.map(({ mark, name }) => (
        <li key={name}>
          <i class={mark} /> {name}
        </li>
      ))}
      {props.children}
    </ul>
  );
}
