import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { anyFreePort } from "../../../cli/worker/worker-process.ts";
import { type Engine, EVALUATION_MS, end, PATIENCE_MS, program } from "./engine.ts";

const driver = program("WebKitWebDriver");
const browser = program(
  ...["x86_64", "aarch64"].map((machine) => `/usr/lib/${machine}-linux-gnu/webkit2gtk-4.1/MiniBrowser`),
  "/usr/libexec/webkit2gtk-4.1/MiniBrowser",
);
const display = program("Xvfb");

/** Key of an element's id in the answers of WebDriver. */
const ELEMENT = "element-6066-11e4-a52e-4f735466cecf";

/** WebKitGTK and JavaScriptCore, driven by WebDriver. Its browser needs a display, which nobody looks at. */
export const webkit: Engine = {
  name: "WebKit",
  packages: "webkit2gtk-driver xvfb",
  installed: [driver, browser, display].every((path) => path !== undefined),
  async launch() {
    const port = await anyFreePort();
    const screen = spawn(display as string, ["-displayfd", "3", "-screen", "0", "1280x900x24", "-nolisten", "tcp"], {
      stdio: ["ignore", "ignore", "ignore", "pipe"],
    });
    // In the locale C, which no visitor has, WebKit takes its own language "C" for invalid.
    const locale = { LANG: "en_US.UTF-8", LC_ALL: "en_US.UTF-8" };
    const env = { ...process.env, ...locale, DISPLAY: `:${await firstLine(screen.stdio[3] as Readable)}`, GDK_BACKEND: "x11" };
    const server = spawn(driver as string, [`--port=${port}`], { env, stdio: "ignore" });
    const stop = async () => {
      await end(server);
      await end(screen);
    };
    try {
      const root = `http://127.0.0.1:${port}`;
      const started = await open(root);
      const session = `${root}/session/${started.sessionId}`;
      await call("POST", `${session}/timeouts`, { script: EVALUATION_MS, implicit: PATIENCE_MS });
      const element = async (selector: string) => {
        const found = await call<Record<string, string>>("POST", `${session}/element`, { using: "css selector", value: selector });
        return `${session}/element/${found[ELEMENT]}`;
      };
      const evaluate = async <T>(expression: string) => {
        const script = `
          const done = arguments[arguments.length - 1];
          Promise.resolve().then(() => (${expression})).then((value) => done({ value }), (error) => done({ error: String(error) }));`;
        const answer = await call<{ value: T; error?: string }>("POST", `${session}/execute/async`, { script, args: [] });
        if (answer.error !== undefined) throw new Error(answer.error);
        return answer.value;
      };
      const tab = {
        open: (url: string) => call<void>("POST", `${session}/url`, { url }),
        click: async (selector: string) => call<void>("POST", `${await element(selector)}/click`, {}),
        attribute: async (selector: string, name: string) => {
          await element(selector);
          return evaluate<string | null>(`document.querySelector(${JSON.stringify(selector)}).getAttribute(${JSON.stringify(name)})`);
        },
        count: async (selector: string) => {
          return evaluate<number>(`document.querySelectorAll(${JSON.stringify(selector)}).length`);
        },
        text: async (selector: string) => {
          await element(selector);
          return evaluate<string>(`document.querySelector(${JSON.stringify(selector)}).innerText`);
        },
        evaluate,
      };
      const close = async () => {
        await call("DELETE", session);
        await stop();
      };
      return { tab, close };
    } catch (error) {
      await stop();
      throw error;
    }
  },
};

/** Starts a session, once the driver listens. */
async function open(root: string): Promise<{ sessionId: string }> {
  const options = { binary: browser, args: ["--automation"] };
  const alwaysMatch = { browserName: "MiniBrowser", "webkitgtk:browserOptions": options };
  for (let tries = 0; ; tries++) {
    const ready = await fetch(`${root}/status`).catch(() => undefined);
    if (ready?.ok) return call("POST", `${root}/session`, { capabilities: { alwaysMatch } });
    if (tries === 200) throw new Error("expected WebKitWebDriver to listen within 10 s");
    await sleep(50);
  }
}

/** A command of WebDriver, and its value. */
async function call<T>(method: string, url: string, body?: object): Promise<T> {
  const response = await fetch(url, { method, body: body && JSON.stringify(body) });
  const { value } = (await response.json()) as { value: T & { message?: string; error?: string } };
  if (!response.ok) throw new Error(`${method} ${new URL(url).pathname}: ${value.error}: ${value.message}`);
  return value;
}

async function firstLine(stream: Readable): Promise<string> {
  for await (const line of createInterface(stream)) return line;
  throw new Error("expected Xvfb to print the number of its display");
}
