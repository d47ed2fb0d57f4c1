import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { policies } from "afterclick";
import { expect, it } from "vitest";
import { verify } from "../../../cli/verify/verification.ts";
import operations from "../../../docs/operations.md?raw";
import { shardName } from "../../../worker/domain/ids/shard.ts";
import { createApp } from "../../../worker/edge/app.ts";
import { call, convert, describeModel, HOUR_MS, learnerOf, type Reply, statusesOf } from "../support/client.ts";
import { MINUTE_MS, tick, useClock } from "../support/clock.ts";
import { exported, fieldsOf } from "../support/exported.ts";
import { expectConsistent } from "../support/fold.ts";

// What becomes of a model of each policy. The table in docs/operations.md states what this test has seen.

useClock();

const window = { ms: HOUR_MS };
/** Options that some policies need, in the order in which they are asked for. */
const NEEDED: Readonly<Record<string, unknown>> = {
  domain: { points: [[0, 0], [1, 0.5], [0.25, 0.75]] }, // biome-ignore format: one line
  horizon: 90,
  expectedDelay: 2,
};

/** A model under test. */
class Subject {
  readonly name: string;
  readonly shards: number;
  readonly hasDomain: boolean;
  #visitors = 0;

  constructor(name: string, shards: number, hasDomain: boolean) {
    this.name = name;
    this.shards = shards;
    this.hasDomain = hasDomain;
  }

  call(method: string, path = "", body?: object): Promise<Reply> {
    return call(method, `/v1/models/${this.name}${path}`, body);
  }

  describe = () => describeModel(this.name);

  get learners(): string[] {
    return Array.from({ length: this.shards }, (_, shard) => shardName(this.name, shard));
  }

  /** Asks a new isolate, which knows nothing older than the newest publication. */
  recommend(): Promise<Reply> {
    const body = { keys: [`visitor ${++this.#visitors}`], ...(!this.hasDomain && { context: { country: "PT" } }) };
    return call("POST", `/v1/models/${this.name}/recommendations`, body, { isolate: createApp() });
  }

  /** Shows one action. It is bought after a minute. Returns the id of the impression. */
  async sell(): Promise<string> {
    const { status, body } = await this.recommend();
    expect(status).toBe(201);
    const [{ impressionId }] = body.actions;
    tick(MINUTE_MS);
    expect(statusesOf(await convert({ impressionId, reward: 1 }))).toEqual(["applied"]);
    return impressionId;
  }

  /** Lets all learners do what is due. */
  async settle(): Promise<void> {
    for (let i = 0; i === 0 || (i < 9 && (await this.describe()).relearning); i++) {
      tick(2 * MINUTE_MS);
      for (const learner of this.learners.toReversed()) await runDurableObjectAlarm(learnerOf(learner));
    }
  }

  async evict(): Promise<void> {
    for (const learner of this.learners) await evictDurableObject(learnerOf(learner));
  }

  /** Gives all stored states another format, as if another version had written them. */
  async restate(by: number): Promise<void> {
    for (const learner of this.learners) {
      await runInDurableObject(learnerOf(learner), (_, { storage: { sql } }) => {
        for (const table of ["snapshots", "merged_snapshots", "shard_sums"]) {
          const rows = sql.exec<{ seq: number; part: number; bytes: ArrayBuffer }>(`SELECT * FROM ${table} WHERE chunk = 0`);
          for (const { seq, part, bytes } of rows.toArray()) {
            // The fifth byte is the format of a snapshot.
            new Uint8Array(bytes)[4] += by;
            sql.exec(`UPDATE ${table} SET bytes = ? WHERE seq = ? AND part = ? AND chunk = 0`, bytes, seq, part);
          }
        }
      });
    }
    await this.evict();
  }

  /** Checks that the log has been learnt again, and that the model goes on. */
  async expectLearntAgain(before: { readonly marks: number; readonly converted: number }): Promise<string> {
    await this.settle();
    expect(await this.#marks()).toBe(before.marks + this.shards);
    expect((await this.describe()).counts.converted).toBe(before.converted);
    await this.sell();
    await this.expectRight();
    return "learnt again";
  }

  async learnt() {
    return { marks: await this.#marks(), converted: (await this.describe()).counts.converted };
  }

  async #marks(): Promise<number> {
    return (await exported(this.name)).map(fieldsOf).filter(({ mark }) => mark === "relearnt").length;
  }

  /** Checks counts, digest and decisions by the log. */
  async expectRight(): Promise<void> {
    if (this.shards === 1) await expectConsistent(this.name);
    const log = await exported(this.name);
    expect((await verify(() => log)).tally.decisions).toBeGreaterThan(0);
  }
}

type Cells = Readonly<Record<string, string>>;

/** Creates a model with these options, and with those that its policy asks for. */
async function create(name: string, policy: string, { shards = 1, given = [] as readonly string[] }) {
  const named = [...given];
  for (;;) {
    const options = Object.fromEntries(named.map((each) => [each, NEEDED[each]]));
    // Several shards cost as many policies, so theirs are small.
    const encoder = shards > 1 && !named.includes("domain") && { encoder: { dimension: 16 } };
    const body = { policy, window, ...(named.length > 0 && { options }), ...(shards > 1 && { shards }), ...encoder };
    const created = await call("PUT", `/v1/models/${name}`, body);
    const [missing] = /^\w+(?=:)/.exec(created.body.detail ?? "") ?? [];
    if (created.status !== 422 || missing === undefined || !(missing in NEEDED)) return { created, body, named };
    named.push(missing);
  }
}

let models = 0;

/** Changes one model in every way. Returns what was seen, or the refusal of its creation. */
async function seen(policy: string, { shards = 1, given = [] as readonly string[] }): Promise<Cells | string> {
  const name = `policy-${++models}`;
  const { created, body, named } = await create(name, policy, { shards, given });
  if (created.status === 422) return created.body.detail;
  expect(created).toMatchObject({ status: 201 });
  const subject = new Subject(name, shards, named.includes("domain"));
  if (!subject.hasDomain) await subject.call("PUT", "/actions", { actions: ["tent", "mug", "lamp"].map((id) => ({ id })) });

  const expectSame = async () => {
    const { bytes: _, ...before } = await subject.describe();
    for (const again of [body, { window }]) expect(await subject.call("PUT", "", again)).toMatchObject({ status: 200, body: before });
  };
  await expectSame();
  expect(await subject.call("PATCH", "", { draws: 7 })).toMatchObject({ status: 200, body: { draws: 7 } });
  expect(await subject.call("PATCH", "", { seed: 7 })).toMatchObject({ status: 200, body: { seed: 7, draws: 7, relearning: null } });
  const first = await subject.sell();
  const second = await subject.sell();
  await expectSame();
  const refused = await subject.call("PATCH", "", { seed: 8 });
  expect([refused.status, refused.body.detail]).toEqual([409, expect.stringMatching(/: seed: expected 7, got 8\..*"from": "log"/)]);

  let before = await subject.learnt();
  expect((await subject.call("POST", "/reset", { from: "log", seed: 8 })).status).toBe(202);
  const relearnt = await subject.expectLearntAgain(before);
  expect(await subject.call("PUT", "", { window, seed: 8 })).toMatchObject({ status: 200, body: { seed: 8 } });

  const others: string[] = [];
  for (const by of [-1, 1]) {
    before = await subject.learnt();
    await subject.restate(by);
    await subject.recommend();
    others.push(await subject.expectLearntAgain(before));
  }

  await subject.settle();
  const { kept, digest } = await subject.describe();
  const undone = await subject.sell();
  expect((await subject.call("POST", "/rollback", { version: kept[0].version })).status).toBe(200);
  await subject.settle();
  expect((await subject.describe()).digest).toBe(digest);
  expect((await call("GET", `/v1/impressions/${undone}`)).body).toMatchObject({ status: "rolled-back" });
  await subject.sell();
  await subject.expectRight();

  expect((await call("DELETE", `/v1/impressions/${first}`)).status).toBe(204);
  expect((await call("GET", `/v1/impressions/${first}`)).status).toBe(404);
  await subject.evict();
  await subject.sell();
  expect((await call("GET", `/v1/impressions/${second}`)).body).toMatchObject({ status: "converted" });
  expect((await exported(name)).map(fieldsOf).some(({ type, id }) => type === "impression" && id === first)).toBe(false);

  return {
    "needs at creation": ["window", ...named].map((each) => `\`${each}\``).join(", "),
    "put again": "the same",
    "patch `draws`": "taken",
    "patch `seed`": "taken before the first impression, then 409 `seed`",
    "reset from the log": relearnt,
    upgrade: others[0],
    downgrade: others[1],
    rollback: "goes back",
    erasure: "erased",
  };
}

/** The cells of each policy. */
const rows = new Map<string, Cells>();

it.each(policies.map(({ id }) => id))("%s: each change of a model does what it says, or is refused by name", async (policy) => {
  const cells = (await seen(policy, {})) as Cells;
  const inDomain = await seen(policy, { given: ["domain"] });
  if (typeof inDomain === "string") expect(inDomain).toMatch(/^options.domain: expected no such option/);
  else expect({ ...inDomain, "needs at creation": cells["needs at creation"] }).toEqual(cells);
  const sharded: (Cells | string)[] = [];
  for (const shards of [3]) sharded.push(await seen(policy, { shards }));
  const isSum = typeof sharded[0] === "object";
  for (const each of sharded) {
    if (isSum) expect(each).toEqual(cells);
    else expect(each).toMatch(new RegExp(`^shards: expected 1, as the state of ${policy} is not a sum: several learners need `));
  }
  rows.set(policy, { ...cells, "2 to 4 shards": isSum ? "the same" : "422 `shards`" });
});

it("the table of docs/operations.md states this", () => {
  const columns = Object.keys(rows.get(policies[0].id) ?? {});
  const lines = Array.from(rows, ([policy, cells]) => [`\`${policy}\``, ...columns.map((column) => cells[column])]);
  const table = [["policy", ...columns], ["policy", ...columns].map(() => "---"), ...lines];
  const [, stated] = /<!-- policies -->\n\n([\s\S]*?)\n\n<!-- \/policies -->/.exec(operations) ?? [];
  expect(stated).toBe(table.map((cells) => `| ${cells.join(" | ")} |`).join("\n"));
});
