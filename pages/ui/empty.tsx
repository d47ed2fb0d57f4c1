import type { Child } from "hono/jsx";

/** Replaces a chart that has no data yet, and says how to get some. */
export function Empty({ title, children }: { title: string; children?: Child }) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      <p class="quiet">{children}</p>
    </div>
  );
}
