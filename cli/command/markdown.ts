// Tables that a command writes into a page.

/** @param left number of leading columns of words. The others are aligned to the right, except the command. */
export function table(head: readonly string[], rows: readonly (readonly string[])[], left = 1): string {
  const align = head.map((name, i) => (i < left || name === "command" ? "---" : "--:"));
  return [head, align, ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

/** Replaces each table of a page, between the marks `<!-- NAME -->` and `<!-- /NAME -->`. @throws {Error} if the marks are missing. */
export function withTables(page: string, tables: Readonly<Record<string, string>>): string {
  return Object.entries(tables).reduce((text, [name, table]) => {
    const place = new RegExp(`(<!-- ${name} -->\n)[\\s\\S]*?(\n<!-- /${name} -->)`);
    if (!place.test(text))
      throw new Error(`The page must have the marks <!-- ${name} --> and <!-- /${name} -->, and has not. Add them where the table goes.`);
    return text.replace(place, (_, before, after) => `${before}\n${table}\n${after}`);
  }, page);
}
