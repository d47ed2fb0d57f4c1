import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { shown } from "../../../../cli/command/terminal.ts";
import { run as compare } from "../../../../cli/compare.ts";
import { run as deploy } from "../../../../cli/deploy.ts";
import { run as doctor } from "../../../../cli/doctor.ts";
import { run as evaluate } from "../../../../cli/evaluate.ts";
import { run as exporting } from "../../../../cli/export.ts";
import { run as replay } from "../../../../cli/replay.ts";
import { run as verify } from "../../../../cli/verify.ts";
import { AnsweringServer } from "../../../support/answering-server.ts";
import { type Answer, answersTo } from "../../../support/calls.ts";
import { sealed, textsOf } from "../../../support/logs/log-lines.ts";
import { configuration, DAY_MS, headOf, impressionAt, START } from "../../../support/logs/registered-log.ts";
import { ran } from "../../../support/ran.ts";

// What logs, files, workers and callers say reaches the terminal without its control characters.

/** Sets the title, clears the screen, deletes, returns, colours, and turns the text around. */
const EVIL = "\u001b]0;title\u0007\u001b[2J\b\r\u009b31m\u007f\u202e\u2066";
const VISIBLE = "\\u001b]0;title\\u0007\\u001b[2J\\u0008\\u000d\\u009b31m\\u007f\\u202e\\u2066";
const OBEYED = /(?!\n|\t)[\p{Cc}\u202a-\u202e\u2066-\u2069]/u;

let folder: string;
const server = new AnsweringServer();
const own = process.cwd();
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "hostile-"));
  process.chdir(folder);
  await server.listen();
});
afterAll(async () => {
  process.chdir(own);
  server.close();
  await rm(folder, { recursive: true });
});
beforeEach(() => {
  vi.stubEnv("AFTERCLICK_SECRET_KEY", "sk");
  vi.stubEnv("AFTERCLICK_PUBLISHABLE_KEY", "pk");
  vi.stubEnv("AFTERCLICK_WEBHOOK_SECRET", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
});
afterEach(() => void vi.unstubAllEnvs());

const textOf = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join("");

async function fileOf(name: string, lines: readonly string[]): Promise<string> {
  const file = join(folder, name);
  await writeFile(file, textOf(lines));
  return file;
}

/** Calls the command with the address of a server that answers everything with this. */
function answeredBy(status: number, text: string, run: typeof doctor, ...args: string[]): Promise<Answer> {
  server.answer = (_, response) => void response.writeHead(status).end(text);
  return ran(run, "--url", server.url.href, ...args);
}

const refusal = JSON.stringify({ detail: EVIL });
const exported = (lines: readonly object[]) => sealed([headOf(lines.length + 1, lines.length + 1), configuration, ...lines]);
const good = exported([impressionAt(2, 1, START)]);
const evilId = exported([{ ...impressionAt(2, 1, START), id: EVIL }]);
const row = (item: string, click: string, propensity: string) =>
  ["timestamp,item_id,click,propensity_score,user_feature_0,user-item_affinity_0", `0,${item},${click},${propensity},young,0.0`] as const;

const compared = (model: string) =>
  textsOf([
    { type: "model", model, generation: 1, exportedAt: START + 4 * DAY_MS },
    {
      type: "mark",
      seq: 1,
      mark: "configuration",
      content: { window: { ms: DAY_MS }, holdout: 0.5 },
    },
    ...["policy", "holdout"].map((arm, i) => ({
      ...{ type: "impression", seq: 2 + i, id: arm, action: EVIL, arm, state: "live", version: 1, shownAt: START },
      decision: { score: 0, mean: 0, width: 0.1, place: 0, candidates: 2 },
    })),
  ]);

const CASES: readonly (readonly [name: string, answer: () => Promise<Answer>])[] = [
  ["the name of a command", async () => (await answersTo([{ file: join(own, "cli/afterclick.ts"), args: [EVIL] }]))[0]],
  ["an unknown option", () => ran(verify, `--${EVIL}`)],
  ["doctor: an origin", () => ran(doctor, "--url", "http://a.example", "--origin", EVIL)],
  ["doctor: the worker's refusal", () => answeredBy(422, refusal, doctor)],
  ["export: a refusal that is no JSON", () => answeredBy(404, EVIL, exporting, "--model", "shop")],
  ["export: an id of the log", () => answeredBy(200, textOf(evilId).replace("hat", "cap"), exporting, "--model", "shop")],
  ["export: names of a model and a file", () => answeredBy(200, textOf(good), exporting, "--model", EVIL, "--out", `out${EVIL}`)],
  ["verify: the name of a file", () => ran(verify, join(folder, EVIL))],
  [
    "verify: the name of the model",
    async () => ran(verify, await fileOf("log.jsonl", sealed([headOf(1, 1, { model: EVIL }), configuration]))),
  ],
  ["evaluate: a policy", async () => ran(evaluate, await fileOf("log.csv", row("0", "1", "0.5")), "--policy", EVIL)],
  ["compare: the name of the model", async () => ran(compare, await fileOf("log.jsonl", compared(EVIL)))],
  ["replay: an id of a csv", async () => ran(replay, await fileOf("log.csv", row(EVIL, "1", "0.5")))],
  ["replay: the worker's refusal", async () => answeredBy(409, refusal, replay, await fileOf("log.csv", row("0", "1", "0.5")))],
  ["deploy: an environment", () => ran(deploy, "--env", EVIL)],
];

describe("shows control characters", () => {
  it.each(CASES)("%s", async (_, answer) => {
    const { stdout, stderr } = await answer();
    const text = stdout + stderr;
    expect(text).not.toMatch(OBEYED);
    expect(text).toMatch(/\\u001b|\\u009b/);
  });
});

it("keeps JSON the same", () => {
  const json = shown(JSON.stringify(EVIL));
  expect(json).not.toMatch(OBEYED);
  expect(JSON.parse(json)).toBe(EVIL);
});

it("shows each control character but line feed and tab, and no other character", () => {
  expect(shown(EVIL)).toBe(VISIBLE);
  const all = Array.from({ length: 0x3000 }, (_, code) => String.fromCharCode(code));
  const obeyed = all.filter((each) => shown(each) !== each);
  const ranges = [
    [0, 8],
    [0xb, 0x1f],
    [0x7f, 0x9f],
    [0x202a, 0x202e],
    [0x2066, 0x2069],
  ];
  expect(obeyed.map((each) => each.charCodeAt(0))).toEqual(
    ranges.flatMap(([from, to]) => Array.from({ length: to - from + 1 }, (_, i) => from + i)),
  );
  expect(shown("a\r\nb\n\tcaf\u00e9 \u{1f6d2}")).toBe("a\nb\n\tcaf\u00e9 \u{1f6d2}");
});
