import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import type { AxeResults } from "axe-core";
import type { Page } from "playwright-core";

/** Loads the rules of accessibility into a page. */
export async function loadAxe(page: Page): Promise<void> {
  await page.evaluate(await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8"));
}

/** The rules that depend on colours. */
export const COLOUR_RULES = ["color-contrast", "link-in-text-block"];

/** Each violation by its rule, with the first element that violates it. @param rules only these, instead of all. */
export async function violations(page: Page, rules?: readonly string[]): Promise<string[]> {
  const options = { resultTypes: ["violations"], ...(rules && { runOnly: { type: "rule", values: rules } }) };
  const { violations } = await page.evaluate<AxeResults>(`axe.run(${JSON.stringify(options)})`);
  return violations.map(({ id, nodes }) => `${id}: ${nodes[0].html.slice(0, 120)} ${nodes[0].any[0]?.message ?? ""}`);
}

/** What is wrong with a page at three widths, in light and dark: violations, and whether it scrolls sideways. */
export async function wrongLooks(page: Page, name: string): Promise<string[]> {
  const wrong: string[] = [];
  await loadAxe(page);
  for (const colorScheme of ["light", "dark"] as const) {
    for (const width of [320, 390, 1280]) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 800 });
      const label = `${name}, ${colorScheme}, ${width}`;
      wrong.push(...(await violations(page)).map((violation) => `${label}: ${violation}`));
      const sideways = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      if (sideways > 0) wrong.push(`${label}: scrolls sideways by ${sideways} px`);
    }
  }
  return wrong;
}
