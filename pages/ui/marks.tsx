import type { Child } from "hono/jsx";

/** Marks on a line, in order of drawing. Each is named by its class. `places` sets the custom properties that position them. */
export function Marks({ places, marks }: { places: Readonly<Record<string, string>>; marks: readonly string[] }) {
  return (
    <div style={places}>
      {marks.map((mark) => (
        <i key={mark} class={mark} />
      ))}
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
