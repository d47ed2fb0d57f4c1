import type { Child } from "hono/jsx";

/** Stands where there is nothing to draw, and says what would change that. */
export function Empty({ title, children }: { title: string; children?: Child }) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      <p class="quiet">{children}</p>
    </div>
  );
}
