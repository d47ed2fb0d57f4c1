import { useState } from "hono/jsx/dom";
import type { Metrics } from "../../worker/protocol/metrics-answer.ts";
import { Empty } from "../ui/empty.tsx";
import { duration } from "../ui/notation.ts";
import { linkTo } from "../ui/route.ts";

const LISTED = 10;

/** Lets the reader choose an impression to explain: one of the newest, or any by its id. */
export function Recents({ metrics, chosen }: { metrics: Metrics; chosen: string | undefined }) {
  const [pasted, paste] = useState("");
  const { recent, model, now } = metrics;
  if (recent.length === 0)
    return (
      <section>
        <Empty title="Newest impressions">None yet.</Empty>
      </section>
    );
  return (
    <section aria-labelledby="recents">
      <h2 id="recents">Newest impressions</h2>
      <ol class="recents">
        {recent.slice(0, LISTED).map(({ impressionId, action, shownAt, status }) => (
          <li key={impressionId}>
            <a href={linkTo(model, impressionId)} aria-current={impressionId === chosen ? "true" : undefined}>
              <i data-status={status} />
              <b>{action}</b>
              <span class="quiet">
                {status}, {now - shownAt < 1000 ? "just now" : `${duration(now - shownAt)} ago`}
              </span>
            </a>
          </li>
        ))}
      </ol>
      <form
        onSubmit={(event: Event) => {
          event.preventDefault();
          if (pasted.trim() !== "") location.hash = linkTo(model, pasted.trim());
        }}
      >
        <label for="pasted">Explain an impression by id</label>
        <div class="field">
          <input
            id="pasted"
            value={pasted}
            autocomplete="off"
            spellcheck={false}
            onInput={(event: Event) => paste((event.currentTarget as HTMLInputElement).value)}
          />
          <button type="submit">Explain</button>
        </div>
      </form>
    </section>
  );
}
