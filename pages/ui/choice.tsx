import type { Child } from "hono/jsx";

/** One of several options, as radio buttons in a row. */
export function Choice<Value>(props: {
  name: string;
  legend: string;
  options: readonly { readonly label: string; readonly value: Value }[];
  chosen: Value;
  choose: (value: Value) => void;
  children?: Child;
}) {
  return (
    <fieldset class="choice">
      <legend>{props.legend}</legend>
      <div>
        {props.options.map(({ label, value }) => (
          <label key={label}>
            <input type="radio" name={props.name} checked={value === props.chosen} onChange={() => props.choose(value)} />
            <span>{label}</span>
          </label>
        ))}
      </div>
      {props.children}
    </fieldset>
  );
}
