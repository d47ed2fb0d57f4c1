import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { receipted } from "../../../worker/domain/ids/receipt.ts";
import { AnsweringServer } from "../../support/answering-server.ts";
import { answersTo } from "../../support/calls.ts";

const AFTERCLICK = resolve("cli/afterclick.ts");
const HEAD = { type: "model", model: "shop", generation: 1, horizon: 0, modelVersion: 7, after: 0, exportedAt: 2 };
const log = (lines: number) => `${receipted({ ...HEAD, lines }, "").text}\n`;

let folder: string;
const server = new AnsweringServer();
beforeAll(() => server.listen());
afterAll(() => server.close());
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "afterclick-export-"));
  server.asked = [];
  server.answer = (_, response) => response.end(log(0));
});
afterEach(() => rm(folder, { recursive: true }));

async function exported(...args: string[]) {
  const call = { file: AFTERCLICK, args: ["export", "--url", server.url.href, "--model", "shop", ...args] };
  const [ended] = await answersTo([call], { cwd: folder, env: { PATH: process.env.PATH, AFTERCLICK_SECRET_KEY: "sk_export" } });
  return ended;
}

it("writes later events beside the earlier export, which it keeps", async () => {
  await writeFile(join(folder, "shop.jsonl"), "earlier");
  expect(await exported("--after", "5")).toEqual({ code: 0, stdout: "0 events of model shop in shop-after-5.jsonl\n", stderr: "" });
  expect(server.asked).toEqual(["GET /v1/models/shop/events?after=5"]);
  expect(await readFile(join(folder, "shop.jsonl"), "utf8")).toBe("earlier");
  expect(await readFile(join(folder, "shop-after-5.jsonl"), "utf8")).toBe(log(0));
});

it("refuses to replace an export by its later events", async () => {
  await writeFile(join(folder, "shop.jsonl"), "earlier");
  const { code, stderr } = await exported("--after", "5", "--out", "shop.jsonl");
  expect([code, stderr.split("\n")[0]]).toEqual([1, "--out: expected a new file, as --after leaves out earlier events; shop.jsonl exists"]);
  expect([server.asked, await readFile(join(folder, "shop.jsonl"), "utf8")]).toEqual([[], "earlier"]);
});

it.each([
  ["ends early", (close: () => void) => close(), /^Not exported: line 1, the head: expected 3 events, got 0; export the log again\n$/],
  ["breaks", (_: () => void, destroy: () => void) => destroy(), /^the connection to http\S+ broke: .*; run the command again\n$/],
] as const)("keeps the file of before if the log %s, and says so in one line", async (_, end, message) => {
  server.answer = (_, response) => {
    response.writeHead(200);
    response.write(log(3), () =>
      end(
        () => response.end(),
        () => response.destroy(),
      ),
    );
  };
  await writeFile(join(folder, "shop.jsonl"), "earlier");
  const { code, stderr } = await exported();
  expect([code, stderr]).toEqual([1, expect.stringMatching(message)]);
  expect(await readdir(folder)).toEqual(["shop.jsonl"]);
  expect(await readFile(join(folder, "shop.jsonl"), "utf8")).toBe("earlier");
});
