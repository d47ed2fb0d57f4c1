import { launch } from "puppeteer-core";
import { type Engine, EVALUATION_MS, PATIENCE_MS, program } from "./engine.ts";

const executablePath = program("firefox-esr", "firefox");

/** Gecko and SpiderMonkey, driven by WebDriver BiDi. Debian's Firefox speaks it without a driver. */
export const firefox: Engine = {
  name: "Firefox",
  packages: "firefox-esr",
  installed: executablePath !== undefined,
  async launch() {
    const browser = await launch({ browser: "firefox", executablePath, headless: true, protocolTimeout: EVALUATION_MS });
    const [page] = await browser.pages();
    page.setDefaultTimeout(PATIENCE_MS);
    const messages: string[] = [];
    const requests: string[] = [];
    page.on("console", (message) => messages.push(message.text()));
    page.on("pageerror", (error) => messages.push(String(error)));
    page.on("request", (request) => requests.push(request.url()));
    const tab = {
      open: async (url: string) => void (await page.goto(url)),
      // Puppeteer's own click waits until an element rests, which one of a page that redraws all the time does not.
      click: async (selector: string) => {
        await page.waitForSelector(selector);
        await page.evaluate(`document.querySelector(${JSON.stringify(selector)}).click()`);
      },
      text: async (selector: string) => {
        await page.waitForSelector(selector);
        return (await page.evaluate(`document.querySelector(${JSON.stringify(selector)}).innerText`)) as string;
      },
      attribute: async (selector: string, name: string) => {
        await page.waitForSelector(selector);
        return (await page.evaluate(`document.querySelector(${JSON.stringify(selector)}).getAttribute(${JSON.stringify(name)})`)) as
          | string
          | null;
      },
      count: async (selector: string) => (await page.$$(selector)).length,
      evaluate: async <T>(expression: string) => (await page.evaluate(expression)) as T,
    };
    return { tab, messages, requests, close: () => browser.close() };
  },
};
