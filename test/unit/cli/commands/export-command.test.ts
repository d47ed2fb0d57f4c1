import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { run } from "../../../../cli/export.ts";
import { AnsweringServer } from "../../../support/answering-server.ts";
import { configuration, headOf, impressionAt, START, sealed } from "../../../support/logs/registered-log.ts";
import { ran } from "../../../support/ran.ts";

// The files that `export` writes.

const own = process.cwd();
const server = new AnsweringServer();
const log = sealed([headOf(2, 2), configuration, impressionAt(2, 1, START)]);
const textOf = (lines: readonly string[]) => lines.map((line) => `${line}\n`).join("");

let folder: string;
let authorization: string | undefined;
beforeAll(() => server.listen());
afterAll(() => server.close());
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "afterclick-export-"));
  process.chdir(folder);
  vi.stubEnv("AFTERCLICK_SECRET_KEY", "sk_export");
  server.asked = [];
  answerWith(textOf(log));
});
afterEach(async () => {
  process.chdir(own);
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true });
});

function answerWith(text: string, status = 200): void {
  server.answer = (request, response: ServerResponse) => {
    authorization = request.headers.authorization;
    response.writeHead(status).end(text);
  };
}
const exported = (...args: string[]) => ran(run, "--url", server.url.href, ...args);
const read = (name: string) => readFile(join(folder, name), "utf8");

it("writes a whole log to the model's file, byte for byte", async () => {
  expect(await exported("--model", "shop")).toEqual({ code: 0, stdout: "2 events of model shop in shop.jsonl\n", stderr: "" });
  expect([server.asked, authorization]).toEqual([["GET /v1/models/shop/events?after=0"], "Bearer sk_export"]);
  expect(await read("shop.jsonl")).toBe(textOf(log));
  expect(await readdir(folder)).toEqual(["shop.jsonl"]);
});

it("replaces an earlier export by a whole log", async () => {
  await writeFile("events.jsonl", "earlier");
  expect((await exported("--model", "shop", "--out", "events.jsonl", "--after", "0")).stdout).toBe(
    "2 events of model shop in events.jsonl\n",
  );
  expect(await read("events.jsonl")).toBe(textOf(log));
});

it("writes a log of more than a stream buffers", async () => {
  const many = sealed([
    headOf(3000, 3000),
    configuration,
    ...Array.from({ length: 2999 }, (_, i) => impressionAt(i + 2, i + 1, START + i)),
  ]);
  answerWith(textOf(many));
  expect((await exported("--model", "shop")).stdout).toBe("3000 events of model shop in shop.jsonl\n");
  expect(await read("shop.jsonl")).toBe(textOf(many));
});

it("writes the name of a model as it is, and asks for it encoded", async () => {
  expect((await exported("--model", "my shop")).stdout).toBe("2 events of model my shop in my shop.jsonl\n");
  expect(server.asked).toEqual(["GET /v1/models/my%20shop/events?after=0"]);
});

it("writes no file of a log that was changed on its way", async () => {
  answerWith(textOf(log.with(2, log[2].replace("hat", "cap"))));
  const { code, stdout, stderr } = await exported("--model", "shop");
  expect([code, stdout]).toEqual([1, ""]);
  expect(stderr).toMatch(/^Not exported: line 3, event 2, impression \S+: the receipt does not match this line and the one before; /);
  expect(await readdir(folder)).toEqual([]);
});

it("shows the worker's refusal in one line", async () => {
  answerWith('{"detail":"no model shop"}', 404);
  const { code, stderr } = await exported("--model", "shop");
  expect([code, stderr]).toEqual([1, "GET /v1/models/shop/events?after=0 answered 404: no model shop\n"]);
  expect(await readdir(folder)).toEqual([]);
});

it.each([
  [[], "--model: expected the name of a model, got none"],
  [["--model", ""], "--model: expected the name of a model, got none"],
  [["--model", "shop", "--after", "1.5"], "--after: expected a whole number from 0 to 9007199254740991, got 1.5"],
  [["--model", "shop", "--url", "ftp://a"], "--url: expected a URL with http or https, got ftp://a"],
])("refuses %j before it asks", async (args, message) => {
  const { code, stderr } = await exported(...args);
  expect([code, stderr.split("\n")[0], server.asked]).toEqual([1, message, []]);
});
