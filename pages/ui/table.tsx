import type { Child } from "hono/jsx";

/** The head of a table. `class`: "unseen" if only screen readers need it. */
export function Head(props: { columns: readonly string[]; class?: string }) {
  return (
    <thead class={props.class}>
      <tr>
        {props.columns.map((column) => (
          <th key={column} scope="col">
            {column}
          </th>
        ))}
      </tr>
    </thead>
  );
}

/** A table whose first column names the rows. */
export function Table(props: { columns: readonly string[]; rows: readonly (readonly Child[])[]; class?: string }) {
  return (
    <table class={props.class}>
      <Head columns={props.columns} />
      <tbody>
        {props.rows.map(([first, ...rest], row) => (
          <tr key={row}>
            <th scope="row">{first}</th>
            {rest.map((cell, column) => (
              <td key={column}>{cell}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
