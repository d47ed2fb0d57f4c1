import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createTestHarness, type TestHarness } from "wrangler";
import { conversionDelay } from "../../../cli/replay/plan.ts";
import { type Answer, answersTo, type Call } from "../../support/calls.ts";

// The command `replay` before a worker in workerd.

const HEADER =
  "timestamp,item_id,position,click,user_feature_0,user_feature_1,user-item_affinity_0,user-item_affinity_1,user-item_affinity_2";
const rows = Array.from({ length: 120 }, (_, i) => `2019-11-24 00:00:00,${i % 3},1,${Number(i === 7)},young,north,${i % 2}.0,0.0,2.0`);
const secrets = {
  AFTERCLICK_SECRET_KEY: "sk_test_of_the_replay",
  AFTERCLICK_PUBLISHABLE_KEY: "pk_test_of_the_replay",
  AFTERCLICK_WEBHOOK_SECRET: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
  AFTERCLICK_TOKEN_KEY: "token-key-of-the-replay",
  AFTERCLICK_JOIN_KEY: "join-key-of-the-replay",
};

const REPLAY = join(process.cwd(), "cli/afterclick.ts");

let folder: string;
let log: string;
let harness: TestHarness;
let url: string;
let silent: Server;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "replay-"));
  log = join(folder, "fashion-random.csv.gz");
  await writeFile(log, gzipSync([HEADER, ...rows, ""].join("\n")));
  process.env.WRANGLER_LOG ??= "warn";
  harness = createTestHarness({ workers: [{ configPath: "wrangler.jsonc", secrets }] });
  url = (await harness.listen()).url.href;
  silent = createServer((request) => request.destroy()).listen(0, "127.0.0.1");
  await once(silent, "listening");
});
afterAll(async () => {
  silent?.close();
  await harness?.close();
  await rm(folder, { recursive: true });
});

/** A folder without local secrets, and an environment without any but these. */
const own = (env: Record<string, string> = {}) => ({ cwd: folder, env: { PATH: process.env.PATH, ...env } });

function replay(...args: string[]): Promise<Answer> {
  return new Promise((resolve) => {
    execFile(process.execPath, [REPLAY, "replay", log, "--url", url, ...args], own(secrets), (error, stdout, stderr) => {
      resolve({ code: error ? Number(error.code) : 0, stdout, stderr });
    });
  });
}

it("loses no conversion, goes on from what the model has learnt, and refuses another configuration", async () => {
  // The shortest window. A replay lasts a little longer than its window.
  const plan = { seed: 3, rate: 0.5, windowMs: 1000 };
  const delays = rows.map((_, index) => conversionDelay(plan, { index, clicked: index === 7 }));
  for (const known of [0, 240]) {
    const { code, stdout, stderr } = await replay("--conversions", "0.5", "--window-ms", "1000", "--seed", "3");
    expect(stderr).not.toContain("lost");
    expect(stdout).toContain(`(${known} earlier impressions)`);
    const { served, delivered, joined, duplicate, late, lost } = JSON.parse(stdout.trim().split("\n").at(-1) as string);
    expect({ code, served, lost }).toEqual({ code: 0, served: 120, lost: 0 });
    expect(joined + late).toBe(delays.filter((delay) => delay !== undefined).length);
    expect(late).toBeGreaterThan(0);
    expect(delivered).toBe(joined + duplicate + late + lost);
  }
  expect(await replay("--window-ms", "4000")).toMatchObject({ code: 1, stderr: expect.stringMatching(/PUT .* answered 409/) });
});

it("ends with an error that says what to do", async () => {
  const refused: readonly (readonly [args: readonly string[], env: Record<string, string>, message: RegExp])[] = [
    [[], secrets, /expected one FILE, got 0/],
    [["nothing.csv"], secrets, /no such file/],
    [[log], {}, /AFTERCLICK_SECRET_KEY: expected a value that is no hash, in the environment or in .dev.vars/],
    [[log], { ...secrets, AFTERCLICK_WEBHOOK_SECRET: "hush" }, /expected whsec_ and base64/],
    [[log, "--url", "http://127.0.0.1:2"], secrets, /no worker answers at http:\/\/127.0.0.1:2: ECONNREFUSED/],
    [[log, "--url", `http://127.0.0.1:${(silent.address() as AddressInfo).port}`], secrets, /no worker answers/],
    [[log, "--url", url], { ...secrets, AFTERCLICK_SECRET_KEY: "other" }, /401.*Use the AFTERCLICK_ keys of this worker/],
    [
      [log, "--url", url, "--model", "unsigned", "--window-ms", "1000"],
      { ...secrets, AFTERCLICK_WEBHOOK_SECRET: "whsec_b3RoZXI=" },
      /POST \/v1\/conversions answered 401/,
    ],
    [[log, "--conversions", "2"], secrets, /--conversions: expected a number from 0 to 1, got 2/],
    [[log, "--speed", "2"], secrets, /Unknown option '--speed'/],
    [[log, "--url", "nowhere"], secrets, /--url: expected a URL with http or https, got nowhere/],
  ];
  const answers = await answersTo(
    refused.map(([args, env]): Call => ({ file: REPLAY, args: ["replay", ...args], env })),
    own(),
  );
  for (const [i, [args, , message]] of refused.entries()) {
    expect(answers[i], args.join(" ")).toMatchObject({ code: 1, stderr: expect.stringMatching(message) });
    expect(answers[i].stderr).not.toMatch(/^ {4}at /m);
  }
});
