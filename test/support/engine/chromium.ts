import { hasChromium, launchChromium } from "../chromium.ts";
import { type Engine, PATIENCE_MS } from "./engine.ts";

/** Blink and V8, driven by Playwright. */
export const chromium: Engine = {
  name: "Chromium",
  packages: "chromium",
  installed: hasChromium,
  async launch() {
    const browser = await launchChromium();
    const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
    page.setDefaultTimeout(PATIENCE_MS);
    const messages: string[] = [];
    const requests: string[] = [];
    page.on("console", (message) => messages.push(message.text()));
    page.on("pageerror", (error) => messages.push(error.message));
    page.on("request", (request) => requests.push(request.url()));
    const tab = {
      open: async (url: string) => void (await page.goto(url)),
      click: (selector: string) => page.locator(selector).first().click(),
      text: (selector: string) => page.locator(selector).first().innerText(),
      attribute: (selector: string, name: string) => page.locator(selector).first().getAttribute(name),
      count: (selector: string) => page.locator(selector).count(),
      evaluate: <T>(expression: string) => page.evaluate<T>(expression),
    };
    return { tab, messages, requests, close: () => browser.close() };
  },
};
