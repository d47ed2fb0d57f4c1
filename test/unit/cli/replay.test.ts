import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTestHarness, type TestHarness } from "wrangler";
import { inspectLog, itemFileOf, readCatalogue, readLog } from "../../../cli/replay/open-bandit.ts";
import { conversionDelay, type Plan, repeatDelay, shuffled } from "../../../cli/replay/plan.ts";
import { type Event, Tally } from "../../../cli/replay/tally.ts";
import { answersTo, type Call } from "../../support/calls.ts";

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

let folder: string;
let log: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "replay-"));
  log = await file("fashion-random.csv.gz", gzipSync([HEADER, ...rows, ""].join("\n")));
});
afterAll(() => rm(folder, { recursive: true }));

async function file(name: string, content: string | Uint8Array): Promise<string> {
  await writeFile(join(folder, name), content);
  return join(folder, name);
}

describe("plan", () => {
  const plan: Plan = { seed: 1, rate: 0.1, windowMs: 30_000 };
  const delays = (of: Plan) => Array.from({ length: 10_000 }, (_, index) => conversionDelay(of, { index, clicked: false }));

  it("is the same for the same seed, another for another", () => {
    expect(delays(plan)).toEqual(delays({ ...plan }));
    expect(delays(plan)).not.toEqual(delays({ ...plan, seed: 2 }));
  });

  it("converts the asked share of the rows, a twentieth of them too late, the others well within the window", () => {
    const converted = delays(plan).filter((delay) => delay !== undefined);
    const late = converted.filter((delay) => delay > plan.windowMs);
    // Four standard deviations of a binomial.
    expect(Math.abs(converted.length - 1000)).toBeLessThan(120);
    expect(Math.abs(late.length - converted.length / 20)).toBeLessThan(28);
    expect(Math.max(...converted.filter((delay) => delay <= plan.windowMs))).toBeLessThanOrEqual(0.8 * plan.windowMs);
  });

  it("converts every clicked row", () => {
    expect(conversionDelay({ ...plan, rate: 0 }, { index: 3, clicked: true })).toBeGreaterThanOrEqual(0);
    expect(conversionDelay({ ...plan, rate: 0 }, { index: 3, clicked: false })).toBeUndefined();
  });

  it("sends about a tenth of the webhooks again", () => {
    const repeats = Array.from({ length: 10_000 }, (_, i) => repeatDelay(plan, i)).filter((delay) => delay !== undefined);
    expect(Math.abs(repeats.length - 1000)).toBeLessThan(120);
  });

  it("shuffles without losing anything", () => {
    const entries = Array.from({ length: 50 }, (_, i) => i);
    const order = shuffled(plan, entries, (entry) => entry);
    expect(order).not.toEqual(entries);
    expect(order.toSorted((a, b) => a - b)).toEqual(entries);
  });
});

describe("tally", () => {
  const event = (happenedAt: number): Event => ({ impressionId: "i", windowEndsAt: 100, happenedAt });
  const none = { applied: 0, duplicate: 0, late: 0 };

  it("puts each delivery into one class", () => {
    const tally = new Tally();
    const [inTime, tooLate] = [event(100), event(101)];
    tally.classify(inTime, "applied", false);
    tally.classify(inTime, "duplicate", false);
    tally.classify(tooLate, "late", false);
    tally.classify(tooLate, "duplicate", false);
    tally.crossCheck(none, { applied: 1, duplicate: 2, late: 1 });
    expect(tally.counts).toEqual({ joined: 1, duplicate: 2, late: 1, lost: 0 });
    expect(tally.delivered).toBe(4);
  });

  it.each([
    ["applied twice", 50, ["applied", "applied"]],
    ["called late within its window", 50, ["late"]],
    ["applied after its window", 150, ["applied"]],
    ["called duplicate without ever having been applied", 50, ["duplicate"]],
    ["not known to the worker", 50, ["unknown"]],
  ])("counts a conversion as lost that is %s", (_, happenedAt, statuses) => {
    const tally = new Tally();
    const conversion = event(happenedAt);
    for (const status of statuses) tally.classify(conversion, status, false);
    expect(tally.counts.lost).toBe(1);
    expect(tally.delivered).toBe(statuses.length);
  });

  it("takes a duplicate for the first if the first answer got lost", () => {
    const tally = new Tally();
    tally.classify(event(50), "duplicate", true);
    tally.crossCheck(none, { applied: 1, duplicate: 1, late: 0 });
    expect(tally.counts).toEqual({ joined: 1, duplicate: 0, late: 0, lost: 0 });
  });

  it("settles what only the journal had, once", () => {
    const tally = new Tally();
    const [taken, forgotten, tooLate] = [event(50), event(50), event(150)];
    for (const each of [taken, taken, forgotten, tooLate]) tally.classify(each, "accepted", false);
    expect(tally.delivered).toBe(0);
    for (const each of tally.accepted) tally.settle(each, each === taken);
    expect(tally.counts).toEqual({ joined: 1, duplicate: 1, late: 1, lost: 1 });
  });

  it.each(["applied", "duplicate", "late"])("counts as lost what the worker's own count of %s does not show", (counter) => {
    const tally = new Tally();
    const conversion = event(50);
    tally.classify(conversion, "applied", false);
    tally.classify(conversion, "duplicate", false);
    tally.classify(event(150), "late", false);
    tally.crossCheck(none, { applied: 1, duplicate: 1, late: 1, [counter]: 0 });
    expect(tally.counts.lost).toBe(1);
    expect(tally.delivered).toBe(3);
  });
});

describe("open bandit log", () => {
  it("is read with its items, its users' features and their affinities", async () => {
    expect(await inspectLog(log)).toEqual({
      rows: 120,
      clicks: 1,
      items: ["0", "1", "2"],
      userFeatures: ["user_feature_0", "user_feature_1"],
    });
    const context = { user_feature_0: "young", user_feature_1: "north", affinity: ["0", "2"] };
    let index = 0;
    for await (const row of readLog(log)) {
      if (index === 7) expect(row).toEqual({ index, item: "1", clicked: true, context, position: "1", shownAt: Date.UTC(2019, 10, 24) });
      else expect(row).toMatchObject({ index, item: String(index % 3), clicked: false });
      index++;
    }
    expect(index).toBe(120);
  });

  it("is read in UTC where its times name no zone, wherever that is done", async () => {
    const script = `
      const { readLog } = await import(${JSON.stringify(join(process.cwd(), "cli/replay/open-bandit.ts"))});
      for await (const { shownAt } of readLog(process.argv[1])) console.log(shownAt);`;
    const zoned = await file("zoned.csv", [HEADER, rows[0], rows[0].replace(":00,", ":00+02:00,"), ""].join("\n"));
    const printed = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", script, zoned], {
      env: { ...process.env, TZ: "Pacific/Kiritimati" },
    });
    const midnight = Date.UTC(2019, 10, 24);
    expect(printed.stdout.trim().split("\n").map(Number)).toEqual([midnight, midnight - 2 * 3_600_000]);
  });

  it("takes the items' features from the file beside it, if there is one", async () => {
    const bare = await readCatalogue(await inspectLog(log), itemFileOf(log));
    expect(bare.actions).toEqual(["0", "1", "2"].map((id) => ({ id, features: {} })));
    await file("fashion-items.csv", "item_id,item_feature_0,item_feature_1\n0,-1.5,a\n1,2.5,b\n2,0,a\n");
    const full = await readCatalogue(await inspectLog(log), itemFileOf(log));
    expect(full.actions[1]).toEqual({ id: "1", features: { item_feature_0: 2.5, item_feature_1: "b" } });
    expect(full.encoder.numeric).toEqual({ item_feature_0: { min: -1.5, max: 2.5 } });
  });

  it.each([
    ["another csv", "other.csv", "label,p0\n1,2\n", /expected an Open Bandit csv with a column item_id, got none/],
    ["a header alone", "empty.csv", `${HEADER}\n`, /expected at least one row, got none/],
    ["a row cut short", "short.csv", `${HEADER}\n2019,1,1\n`, /expected a csv/],
    [
      "an item without an affinity",
      "item.csv",
      `${HEADER}\n2019,9,1,0,a,b,0,0,0\n`,
      /row 1: expected an affinity column for item_id 9, got none/,
    ],
    ["a click that is none", "click.csv", `${HEADER}\n2019,1,1,yes,a,b,0,0,0\n`, /row 1: expected click to be 0 or 1, got yes/],
    ["a gzip that is none", "plain.csv.gz", `${HEADER}\n`, /expected a complete gzip file/],
    ["a gzip cut short", "cut.csv.gz", gzipSync([HEADER, ...rows].join("\n")).subarray(0, 100), /expected a complete gzip file/],
  ])("refuses %s", async (_, name, content, message) => {
    await expect(inspectLog(await file(name, content))).rejects.toThrow(message);
  });

  it("refuses a file that is not there", async () => {
    await expect(inspectLog(join(folder, "nothing.csv"))).rejects.toThrow(/no such file/);
  });
});

interface Ending {
  readonly code: number;
  readonly out: string[];
  readonly error: string;
}

const REPLAY = join(process.cwd(), "cli/afterclick.ts");

/** A folder without local secrets, and an environment without any but these. */
const own = (env: Record<string, string> = {}) => ({ cwd: folder, env: { PATH: process.env.PATH, ...env } });

function replay(args: string[], env: Record<string, string> = secrets): Promise<Ending> {
  return new Promise((resolve) => {
    execFile(process.execPath, [REPLAY, "replay", ...args], own(env), (error, stdout, stderr) => {
      resolve({ code: error ? Number(error.code) : 0, out: stdout.trim().split("\n"), error: stderr });
    });
  });
}

describe("npm run replay", () => {
  let harness: TestHarness;
  let url: string;
  let silent: Server;
  beforeAll(async () => {
    process.env.WRANGLER_LOG ??= "warn";
    harness = createTestHarness({ workers: [{ configPath: "wrangler.jsonc", secrets }] });
    url = (await harness.listen()).url.href;
    silent = createServer((request) => request.destroy()).listen(0, "127.0.0.1");
    await once(silent, "listening");
  });
  afterAll(async () => {
    silent?.close();
    await harness?.close();
  });

  describe("of one model, in turn", { shuffle: false }, () => {
    it("loses no conversion, and goes on from what the model has learnt", async () => {
      // The shortest window. A replay lasts a little longer than its window.
      const windowMs = 1000;
      for (const known of [0, 240]) {
        const { code, out, error } = await replay([
          log,
          "--url",
          url,
          "--conversions",
          "0.5",
          "--window-ms",
          String(windowMs),
          "--seed",
          "3",
        ]);
        expect(error).not.toContain("lost");
        expect(out[0]).toContain(`(${known} earlier impressions)`);
        const { served, delivered, joined, duplicate, late, lost } = JSON.parse(out.at(-1) as string);
        expect({ code, served, lost }).toEqual({ code: 0, served: 120, lost: 0 });
        expect(joined + late).toBe(
          Array.from({ length: 120 }, (_, index) =>
            conversionDelay({ seed: 3, rate: 0.5, windowMs }, { index, clicked: index === 7 }),
          ).filter((delay) => delay !== undefined).length,
        );
        expect(late).toBeGreaterThan(0);
        expect(delivered).toBe(joined + duplicate + late + lost);
      }
    });

    it("says that the model has another configuration", async () => {
      const { code, error } = await replay([log, "--url", url, "--window-ms", "4000"]);
      expect(error).toMatch(/PUT .* answered 409/);
      expect(code).toBe(1);
    });
  });

  it("ends with an error for a wrong webhook secret", async () => {
    const wrong = { ...secrets, AFTERCLICK_WEBHOOK_SECRET: "whsec_b3RoZXI=" };
    const { code, error } = await replay([log, "--url", url, "--model", "unsigned", "--window-ms", "1000"], wrong);
    expect(error).toMatch(/POST \/v1\/conversions answered 401/);
    expect(error).not.toMatch(/^ {4}at /m);
    expect(code).toBe(1);
  });

  it("ends with an error that says what to do, before it sends anything", async () => {
    const refused: readonly (readonly [args: readonly string[], env: Record<string, string>, message: RegExp])[] = [
      [[], secrets, /expected one FILE, got 0/],
      [["nothing.csv"], secrets, /no such file/],
      [[log], {}, /AFTERCLICK_SECRET_KEY: expected a value that is no hash, in the environment or in .dev.vars/],
      [[log], { ...secrets, AFTERCLICK_WEBHOOK_SECRET: "hush" }, /expected whsec_ and base64/],
      [[log, "--url", "http://127.0.0.1:2"], secrets, /no worker answers at http:\/\/127.0.0.1:2: ECONNREFUSED/],
      [[log, "--url", `http://127.0.0.1:${(silent.address() as AddressInfo).port}`], secrets, /no worker answers/],
      [[log, "--url", url], { ...secrets, AFTERCLICK_SECRET_KEY: "other" }, /401.*Use the AFTERCLICK_ keys of this worker/],
      [[log, "--conversions", "2"], secrets, /--conversions: expected a number from 0 to 1, got 2/],
      [[log, "--speed", "2"], secrets, /Unknown option '--speed'/],
      [[log, "--url", "nowhere"], secrets, /--url: expected a URL with http or https, got nowhere/],
    ];
    const calls = refused.map(([args, env]): Call => ({ file: REPLAY, args: ["replay", ...args], env }));
    const answers = await answersTo(calls, own());
    for (const [i, [args, , message]] of refused.entries()) {
      const { code, stderr } = answers[i];
      expect(stderr, args.join(" ")).toMatch(message);
      expect(stderr).not.toMatch(/^ {4}at /m);
      expect(code).toBe(1);
    }
  });
});
