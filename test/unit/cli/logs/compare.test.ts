import { expect, it } from "vitest";
import { run } from "../../../../cli/compare.ts";
import { commandOnLog } from "../../../support/logs/log-command.ts";
import { ran } from "../../../support/ran.ts";

// The report of `afterclick compare`. test/worker/log/compare.test.ts checks the numbers.

const HOUR_MS = 3_600_000;
const SHOWN = Date.UTC(2026, 0, 1);
const DAY = 24 * HOUR_MS;
const config = { window: { ms: DAY }, goals: null, reward: { min: 0, max: 1 }, holdout: 0.5 };
const head = { type: "model", model: "shop", generation: 1, exportedAt: SHOWN + 4 * DAY };
const configuration = (fields: object = {}) => ({ type: "mark", mark: "configuration", content: { ...config, ...fields } });
const decision = { score: 0, mean: 0, width: 0.1, place: 0, candidates: 2 };

/** Lists of an arm with one impression each, of which the first `converted` convert an hour later. */
function lists(
  arm: string,
  count: number,
  converted: number,
  { goal = "conversion", delay = HOUR_MS, ...fields }: Record<string, unknown> & { delay?: number } = {},
): object[] {
  return Array.from({ length: count }, (_, i) => {
    const id = `${arm} ${fields.version ?? 1} ${i}`;
    const shownAt = SHOWN + 1000 * i;
    const impression = { type: "impression", id, action: "mug", arm, state: "live", version: 1, shownAt, decision, ...fields };
    const conversion = { type: "conversion", impression: id, goal, event: id, reward: 1, at: shownAt + delay, status: "applied" };
    return i < converted ? [impression, conversion] : [impression];
  }).flat();
}

const { fileOf, answered: compared, report } = commandOnLog(run, head);

const TITLE = "model shop, goal conversion within 24.0 h, as of 2026-01-05T00:00:00.000Z";
const COLUMNS = "              lists  impressions  conversions  corrected rate";

it("reports both arms, their difference and the decision", async () => {
  expect(await report([configuration(), ...lists("policy", 2000, 1000), ...lists("holdout", 2000, 200)])).toEqual([
    TITLE,
    COLUMNS,
    "policy         2000         2000         1000         50.00 %",
    "holdout        2000         2000          200         10.00 %",
    "",
    "difference 40.00 % (400.00 % of the holdout's rate), interval at all looks 35.90 % to 44.10 %",
    "decided: the policy converts more",
  ]);
});

it("tells that the holdout converts more, and that some impressions were not assigned", async () => {
  const others = lists("policy", 3, 0, { decision: null, version: 7 });
  expect((await report([configuration(), ...lists("policy", 2000, 200), ...lists("holdout", 2000, 1000), ...others])).slice(4)).toEqual([
    "",
    "difference -40.00 % (-80.00 % of the holdout's rate), interval at all looks -44.10 % to -35.90 %",
    "decided: the holdout converts more",
    "3 impressions registered, imported or pinned: not assigned by this model, so not compared",
  ]);
});

it("leaves out impressions that a request pinned", async () => {
  const pinned = lists("policy", 2, 1, { decision: { ...decision, asked: { pin: [{ action: "mug", place: 0 }] } }, version: 7 });
  const lines = await report([configuration(), ...lists("policy", 2000, 200), ...lists("holdout", 2000, 200), ...pinned]);
  expect(lines[2]).toMatch(/^policy +2000 +2000 +200 /);
  expect(lines.at(-1)).toBe("2 impressions registered, imported or pinned: not assigned by this model, so not compared");
});

it("compares closed windows if the arms differ in their delays, and says so", async () => {
  const late = lists("holdout", 2000, 200, { delay: 9 * HOUR_MS });
  expect((await report([configuration(), ...lists("policy", 2000, 200), ...late])).at(-1)).toMatch(
    /^lists count once their windows have closed/,
  );
});

it("leaves open what its interval leaves open, with the widths of the options", async () => {
  const lines = [configuration(), ...lists("policy", 2000, 220), ...lists("holdout", 2000, 200)];
  const intervalOf = async (...options: string[]) => {
    const [difference, open] = (await report(lines, ...options)).slice(5);
    expect(open).toBe("not decided yet: the interval contains 0");
    const [, low, high] = /^difference 1\.00 % .*looks (-?[\d.]+) % to ([\d.]+) %$/.exec(difference) as RegExpExecArray;
    return Number(high) - Number(low);
  };
  expect(await intervalOf("--alpha", "0.4")).toBeLessThan(await intervalOf());
  expect(await intervalOf("--effect", "0.9")).toBeGreaterThan(await intervalOf("--effect", "0.03"));
});

it("reports each goal by itself, and asks for more data", async () => {
  const goals = { order: { weight: 1, value: { max: 5, currency: "EUR" } }, click: { weight: 0 } };
  const lines = [configuration({ goals }), ...lists("policy", 20, 2, { goal: "order" }), ...lists("holdout", 20, 2, { goal: "click" })];
  const whole = await report(lines);
  expect(whole).toEqual([
    "model shop, goal order within 24.0 h, as of 2026-01-05T00:00:00.000Z; conversions are compared, not amounts in EUR",
    COLUMNS,
    "policy           20           20            2         10.00 %",
    "holdout          20           20            0          0.00 %",
    "",
    "difference too few, about 30 more converted lists of the arm that has fewer",
    "",
    "model shop, goal click within 24.0 h, as of 2026-01-05T00:00:00.000Z",
    COLUMNS,
    "policy           20           20            0          0.00 %",
    "holdout          20           20            2         10.00 %",
    "",
    "difference too few, about 30 more converted lists of the arm that has fewer",
  ]);
  expect(await report(lines, "--goal", "click")).toEqual(whole.slice(7));
});

it("names each share of the holdout, and warns of lists that are lost", async () => {
  const later = { version: 1000 };
  const after = [...lists("policy", 900, 90, later), ...lists("holdout", 1, 1, later)].map((line, i) => ({ ...line, seq: 2000 + i }));
  const change = { ...configuration({ holdout: 0.1 }), seq: 1000 };
  expect((await report([configuration(), ...lists("policy", 100, 20), ...lists("holdout", 100, 20), change, ...after])).slice(6)).toEqual([
    "holdout 0.1: 900 lists of the policy, 1 of the holdout. Both arms need two lists that have matured, so these tell nothing",
    "holdout 0.5: 100 lists of the policy, 100 of the holdout, compared by themselves",
    "warning: the log has 101 lists of the holdout, which does not fit its share. Impressions of one arm are lost: do not trust the difference",
  ]);
});

it("warns of one share only if its lists contradict it", async () => {
  const of = (holdout: number) => report([configuration({ holdout }), ...lists("policy", 200, 20), ...lists("holdout", 200, 20)]);
  expect((await of(0.1)).slice(6)).toEqual([
    "warning: the log has 200 lists of the holdout, which does not fit its share. Impressions of one arm are lost: do not trust the difference",
  ]);
  expect((await of(0.5)).slice(6)).toEqual([]);
});

it("says which part of the window has passed so far", async () => {
  const window = { ms: 30 * DAY };
  const [title] = await report([configuration({ window }), ...lists("policy", 200, 100), ...lists("holdout", 200, 100)]);
  expect(title).toMatch(/^model shop, goal conversion within \d+\.\d h so far, as of /);
  const [, hours] = /within ([\d.]+) h/.exec(title) as RegExpExecArray;
  // The age of the oldest list, up to the end of its delay bin.
  expect(Number(hours)).toBeGreaterThan(95);
  expect(Number(hours)).toBeLessThan(110);
});

it("prints the results as JSON", async () => {
  const lines = [
    configuration({ holdout: 0.1 }),
    ...lists("policy", 200, 40),
    ...lists("holdout", 200, 20),
    ...lists("policy", 1, 0, { decision: null, version: 3 }),
  ];
  const [result, ...others] = JSON.parse((await report([...lines, { ...configuration({ holdout: 0.1 }), seq: 1 }], "--json")).join("\n"));
  expect(others).toEqual([]);
  expect(result).toMatchObject({
    ...{ model: "shop", goal: "conversion", windowMs: DAY, unassigned: 1, repeated: 1, decided: false },
    policy: { lists: 200, conversions: 40 },
    holdout: { lists: 200, conversions: 20 },
  });
  expect(result.mismatch).toBeGreaterThan(1e6);
});

it.each([
  [["--effect", "0"], "--effect: expected a number from 0.000001 to 1, got 0"],
  [["--alpha", "0.6"], "--alpha: expected a number from 0.000001 to 0.5, got 0.6"],
  [["--goal", "order"], 'expected lists of a holdout, got none of model shop: PATCH it with { "holdout": 0.1 }, and wait'],
])("refuses %j in one line", async (options, message) => {
  const { code, stdout, stderr } = await compared([configuration(), ...lists("policy", 2, 0)], ...options);
  expect([code, stdout, stderr.split("\n")[0]]).toEqual([1, "", message]);
});

it("says that a log cannot be read", async () => {
  const { code, stderr } = await ran(run, fileOf("missing.jsonl"));
  expect([code, stderr]).toEqual([1, expect.stringMatching(/^Cannot read the log: ENOENT: .*missing\.jsonl'\n$/)]);
});
