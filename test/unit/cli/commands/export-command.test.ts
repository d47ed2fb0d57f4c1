import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { run } from "../../../../cli/export.ts";
import { AnsweringServer } from "../../../support/answering-server.ts";
import { sealed } from "../../../support/logs/log-lines.ts";
import { configuration, headOf, impressionAt, START } from "../../../support/logs/registered-log.ts";
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

function answerWith(text: string): void {
  server.answer = (request, response) => {
    authorization = request.headers.authorization;
    response.end(text);
  };
}
const exported = (...args: string[]) => ran(run, "--url", server.url.href, ...args);
const read = (name: string) => readFile(join(folder, name), "utf8");

it("writes a whole log to the model's file, byte for byte, in place of an earlier export", async () => {
  await writeFile("my shop.jsonl", "earlier");
  expect(await exported("--model", "my shop")).toEqual({ code: 0, stdout: "2 events of model my shop in my shop.jsonl\n", stderr: "" });
  expect([server.asked, authorization]).toEqual([["GET /v1/models/my%20shop/events?after=0"], "Bearer sk_export"]);
  expect(await read("my shop.jsonl")).toBe(textOf(log));
  expect(await readdir(folder)).toEqual(["my shop.jsonl"]);
});

it("writes later events beside an earlier export, which they never replace", async () => {
  await writeFile("shop.jsonl", "earlier");
  answerWith(textOf(sealed([headOf(0, 0)])));
  expect((await exported("--model", "shop", "--after", "5")).stdout).toBe("0 events of model shop in shop-after-5.jsonl\n");
  expect(server.asked.splice(0)).toEqual(["GET /v1/models/shop/events?after=5"]);
  const { code, stderr } = await exported("--model", "shop", "--after", "5", "--out", "shop.jsonl");
  expect([code, stderr.split("\n")[0]]).toEqual([1, "--out: expected a new file, as --after leaves out earlier events; shop.jsonl exists"]);
  expect([server.asked, await read("shop.jsonl")]).toEqual([[], "earlier"]);
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

type End = (response: ServerResponse) => void;
const short = textOf(sealed([headOf(3, 3)]));
it.each<[name: string, text: string, status: number, end: End, message: RegExp]>([
  [
    "was changed on its way",
    textOf(log.with(2, log[2].replace("hat", "cap"))),
    200,
    (response) => response.end(),
    /^Not exported: line 3, event 2, impression \S+: the receipt does not match this line and the one before; [^\n]*\n$/,
  ],
  [
    "ends early",
    short,
    200,
    (response) => response.end(),
    /^Not exported: line 1, the head: expected 3 events, got 0; export the log again\n$/,
  ],
  ["breaks", short, 200, (response) => response.destroy(), /^the connection to http\S+ broke: .*; run the command again\n$/],
  [
    "is refused",
    '{"detail":"no model shop"}',
    404,
    (response) => response.end(),
    /^GET \/v1\/models\/shop\/events\?after=0 answered 404: no model shop\n$/,
  ],
])("keeps the file of before if the log %s, and says so in one line", async (_, text, status, end, message) => {
  server.answer = (_, response) => void response.writeHead(status).write(text, () => end(response));
  await writeFile("shop.jsonl", "earlier");
  expect(await exported("--model", "shop")).toEqual({ code: 1, stdout: "", stderr: expect.stringMatching(message) });
  expect([await readdir(folder), await read("shop.jsonl")]).toEqual([["shop.jsonl"], "earlier"]);
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
