import { env } from "cloudflare:workers";
import { beforeAll, expect, it, vi } from "vitest";
import page from "../../../docs/troubleshooting.md?raw";
import { call, HOUR_MS, recommend, sign } from "../support/client.ts";
import { START, useClock } from "../support/clock.ts";

// Makes each mistake of docs/troubleshooting.md and compares the answer with the document.

const WEEK_MS = 604_800_000;
/** The time that the document calls now. */
const DOCUMENTED = Date.parse("2026-11-21T12:00:00Z");

/** Moves the times of the document to the test's: in seconds, in milliseconds and as ISO 8601. Times of other days stay. */
function moved(text: string): string {
  return text.replaceAll(/\b(\d{10}|\d{13})\b|\b2026-11-21T\d\d:\d\d:\d\d(\.000)?Z/g, (time, number, fraction) => {
    const unit = number?.length === 10 ? 1000 : 1;
    const at = (number ? Number(number) * unit : Date.parse(time)) - DOCUMENTED;
    if (Math.abs(at) > HOUR_MS) return time;
    if (number) return String((START + at) / unit);
    const iso = new Date(START + at).toISOString();
    return fraction ? iso : iso.replace(".000", "");
  });
}

const MISTAKE = /^## (.*)\n\n```http\n([A-Z]+) (\S+)\n([\s\S]*?)\n\n([\s\S]*?)\n```\n\n```json\n([\s\S]*?)\n```$/gm;
const mistakes = Array.from(page.matchAll(MISTAKE), ([, ...parts]) => parts);

useClock();

let impression: string;
beforeAll(async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: START });
  await call("PUT", "/v1/models/shop", { window: { ms: WEEK_MS } });
  await call("PUT", "/v1/models/shop/actions", {
    actions: [
      { id: "boots", features: { brand: "Acme" } },
      { id: "hat", features: { brand: "Umbra" } },
    ],
  });
  [impression] = await recommend("shop");
});

it("finds every mistake of the document", () => {
  expect(mistakes.length).toBeGreaterThanOrEqual(10);
  expect(mistakes.map(([title]) => title)).toEqual(Array.from(page.matchAll(/^## (.*)$/gm), ([, title]) => title));
});

it.each(mistakes)("%s", async (_, method, path, head, content, answer) => {
  const values = (text: string): string =>
    moved(text).replaceAll(/\$([A-Z_]+)/g, (whole, name) =>
      name === "IMPRESSION" ? impression : (env[name as "AFTERCLICK_SECRET_KEY"] ?? whole),
    );
  const body = values(content);
  const headers = Object.fromEntries(
    values(head)
      .split("\n")
      .map((line) => (/^([^:]+): ?(.*)$/.exec(line) ?? []).slice(1)),
  );
  if (headers["webhook-signature"] === "$SIGNATURE") {
    Object.assign(headers, sign(headers["webhook-id"], body, Number(headers["webhook-timestamp"]) * 1000));
  }
  const reply = await call(method, path, body, { key: null, headers });
  const { status, title, detail } = reply.body;
  expect({ status: reply.status, body: { status, title, detail } }).toEqual({
    status,
    body: JSON.parse(moved(answer)),
  });
});
