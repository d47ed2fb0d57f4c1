import { render, useEffect, useState } from "hono/jsx/dom";
import { SHOP_WINDOW_MS } from "../shop.ts";
import { Estimates } from "./estimates.tsx";
import { Impressions } from "./impressions.tsx";
import { Session } from "./session.ts";
import { Shelf } from "./shelf.tsx";

const main = document.querySelector("main") as HTMLElement;

function Shop() {
  const [now, setNow] = useState(Date.now());
  const [session] = useState(() => new Session(main.dataset.key ?? "", () => setNow(Date.now())));
  useEffect(() => session.start(), []);
  return (
    <>
      <p class="problem" role="status">
        {session.problem}
      </p>
      <div class="columns">
        <Shelf session={session} now={now} />
        <Estimates session={session} />
        <Impressions session={session} now={now} />
      </div>
      <footer>
        The page asks for recommendations with the publishable key; the shop's backend reports purchases as signed webhooks. An impression
        is pending until its purchase is reported, and expires after {SHOP_WINDOW_MS / 60_000} minutes without one. The model does not wait
        for that: it counts every impression at once, and corrects itself when a purchase comes.
      </footer>
    </>
  );
}

render(<Shop />, main);
