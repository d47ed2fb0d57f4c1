import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { app } from "../../../worker/edge/app.ts";
import { call, createModel } from "../support/client.ts";
import { useClock } from "../support/clock.ts";

// Forms in which files and variables arrive.

useClock();

const lines = () => [
  JSON.stringify({ type: "impression", id: "a", action: "mug", shownAt: Date.now() }),
  JSON.stringify({ type: "conversion", impression: "a", reward: 1, at: Date.now() }),
];

it.each(["\n", "\r\n", "\r"])("a log with line ends %j, with and without byte order marks, is imported alike", async (end) => {
  for (const mark of ["", "\uFEFF"]) {
    const text =
      lines()
        .map((line) => mark + line)
        .join(end) + end;
    const { status, body } = await call("POST", `/v1/models/${await createModel()}/events`, text);
    expect([status, body.impressions, body.conversions]).toEqual([200, 1, { applied: 1 }]);
  }
});

it.each(["utf16le", "utf16be"])("a log in %s is refused by name", async (encoding) => {
  const model = await createModel();
  const bytes = Buffer.from(`\uFEFF${lines().join("\n")}`, "utf16le");
  for (const body of [bytes, bytes.subarray(2)]) {
    const sent = new Uint8Array(encoding === "utf16be" ? Buffer.from(body).swap16() : body);
    const headers = { authorization: `Bearer ${env.AFTERCLICK_SECRET_KEY}`, "content-type": "application/x-ndjson" };
    const request = new Request(`http://worker/v1/models/${model}/events`, { method: "POST", headers, body: sent });
    const response = await app.fetch(request, env, { waitUntil() {}, passThroughOnException() {}, props: {} } as never);
    expect([response.status, (await response.json<{ detail: string }>()).detail]).toEqual([
      400,
      expect.stringContaining("UTF-8, got UTF-16"),
    ]);
  }
});
