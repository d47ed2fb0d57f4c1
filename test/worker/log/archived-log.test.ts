import { runDurableObjectAlarm } from "cloudflare:test";
import { expect, it, vi } from "vitest";
import { ArchivedLog, type NamedFile, wholeLog } from "../../../cli/archive/whole-log.ts";
import { lineSource } from "../../../cli/evaluate/event-source.ts";
import type { HeadLine } from "../../../cli/log/event-line.ts";
import { linesOf as parsedLines } from "../../../cli/log/event-log.ts";
import { verify, verifyArchive } from "../../../cli/verify/verification.ts";
import { shardName } from "../../../worker/domain/ids/shard.ts";
import { archivedLines, bytesOf, keysOf, opened, useArchive } from "../support/archived.ts";
import { call, convert, createModel, HOUR_MS, learnerOf, recommend, show } from "../support/client.ts";
import { DAY_MS, MINUTE_MS, START, tick, useClock } from "../support/clock.ts";
import { entriesIn } from "../support/event-source.ts";
import { exported } from "../support/exported.ts";
import { lived } from "../support/lived.ts";

useClock();
useArchive();

const RETENTION = { retention: { ms: DAY_MS } };

async function archiveOf(model: string, change: (bytes: Uint8Array<ArrayBuffer>, i: number) => Uint8Array<ArrayBuffer> = (bytes) => bytes) {
  const files = (await keysOf(model)).map(async (key, i): Promise<NamedFile> => {
    const bytes = change(await bytesOf(key), i);
    const sha256 = async () => {
      const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
      return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
    };
    return { name: `down/${key}`, file: await opened(`down/${key}`, bytes), sha256 };
  });
  return new ArchivedLog(await Promise.all(files));
}

/** Rings the alarm until the rows of so many days are archived. */
async function forget(model: string, days = 1): Promise<void> {
  for (let day = 1; day <= days + 1; day++) {
    for (let i = 0; i < 12; i++) {
      vi.setSystemTime(Math.max(Date.now(), START + day * DAY_MS + 65 * MINUTE_MS + i));
      await runDurableObjectAlarm(learnerOf(model));
    }
  }
}

/** A model of three days, of which the archive has some. It was rolled back meanwhile. */
async function ofDays(config: object = {}): Promise<string> {
  const model = await lived({ policy: "otf-lin-ts", ...RETENTION, ...config }, 5);
  for (let n = 0; n < 40; n++) {
    tick(97 * MINUTE_MS);
    const ids = await recommend(model, { context: { country: n % 2 ? "PT" : "DK" }, limit: 2 });
    tick(20 * MINUTE_MS);
    if (n % 2 === 0) await convert({ impressionId: ids[n % 4 ? 0 : 1], goal: "order", reward: 0.5 });
  }
  return model;
}

it.each([
  ["delay-lin-ts", {}],
  ["otf-lin-ts", { minimumShare: 0.1, draws: 20 }],
  ["gp-ts-sdf", { options: { kernel: { name: "matern52" }, capacity: 4 } }],
])("verifies %s from the beginning, through archive and log, as it does without an archive", async (policy, config) => {
  const model = await ofDays({ policy, ...config });
  await runDurableObjectAlarm(learnerOf(model));
  const whole = await exported(model);
  const before = await verify(() => whole);
  await forget(model, 2);
  const [log, archive] = [await exported(model), await archiveOf(model)];
  const head = JSON.parse(log[0]);
  expect(head.horizon).toBeGreaterThan(head.generation);
  expect(archive.files.length).toBeGreaterThan(4);
  const { tally, lines } = await verify(() => log, undefined, archive);
  expect(tally).toMatchObject({ decisions: before.tally.decisions, conversions: before.tally.conversions });
  expect(tally.digests).toBeGreaterThanOrEqual(before.tally.digests);
  expect(lines).toBeGreaterThanOrEqual(before.lines);
});

it("verifies an archive alone, and evaluates the same decisions from archive and log as from the whole log", async () => {
  const model = await ofDays();
  const whole = await exported(model);
  await forget(model, 3);
  const archive = await archiveOf(model);
  const { model: name, generation, horizon } = JSON.parse((await exported(model))[0]);
  expect((await verifyArchive(archive, { model: name, generation, horizon } as HeadLine)).tally.decisions).toBeGreaterThan(100);
  const options = { progress: () => {}, asOf: Date.now() };
  const rest = await exported(model);
  const [own, other] = [
    await lineSource(() => parsedLines(whole, { receipts: false }), options),
    await lineSource(() => wholeLog(archive, parsedLines(rest, { receipts: false })), options),
  ];
  expect(other.decisions.length).toBe(own.decisions.length);
  const plain = ({ decisions }: typeof own) =>
    entriesIn(decisions).map(({ ids, shownAt, index, probability, conversions }) => ({ ids, shownAt, index, probability, conversions }));
  expect(plain(other)).toEqual(plain(own));
});

it("names the file that is missing, altered or cut short", async () => {
  const model = await ofDays();
  await forget(model, 2);
  const log = await exported(model);
  const refusal = async (archive: Promise<ArchivedLog>) => {
    try {
      await verify(() => log, undefined, await archive);
    } catch (error) {
      return `${(error as Error).name} ${(error as Error).message}`;
    }
    return "none";
  };
  const keys = await keysOf(model);
  expect(await refusal(Promise.resolve(new ArchivedLog([])))).toContain("add the archive with --archive");
  const { files } = await archiveOf(model);
  expect(await refusal(Promise.resolve(new ArchivedLog(files.toSpliced(2, 1))))).toBe(
    `ArchiveError ${keys[2]}: expected this file of the archive, got none; download it`,
  );
  const flipped = (bytes: Uint8Array<ArrayBuffer>, i: number) =>
    i === 1 ? bytes.map((byte, at) => (at === 300 ? byte ^ 1 : byte)) : bytes;
  expect(await refusal(archiveOf(model, flipped))).toContain(`ArchiveError down/${keys[1]}: expected the file with SHA-256 `);
  const cut = (bytes: Uint8Array<ArrayBuffer>, i: number) => (i === 1 ? bytes.slice(0, bytes.length - 20) : bytes);
  expect(await refusal(archiveOf(model, cut))).toContain(`ArchiveError down/${keys[1]}: cannot be read, download it again: `);
});

it("verifies through a rollback that undid archived rows", async () => {
  const model = await createModel({ ...RETENTION, serving: "learner" });
  const [{ kept }] = [(await call("GET", `/v1/models/${model}`)).body];
  const ids = await recommend(model, { limit: 2 });
  tick(1000);
  await convert({ impressionId: ids[0], reward: 1 });
  await forget(model);
  expect((await archivedLines(model)).some((line) => line.type === "impression" && line.state === "live")).toBe(true);
  await recommend(model);
  expect((await call("POST", `/v1/models/${model}/rollback`, { version: kept[0].version })).status).toBe(200);
  await recommend(model);
  tick(HOUR_MS);
  const log = await exported(model);
  const { tally } = await verify(() => log, undefined, await archiveOf(model));
  expect(tally.decisions).toBe(4);
});

it("verifies a conversion that came after the last row of the next day", async () => {
  const model = await createModel({ retention: { ms: 4 * DAY_MS }, serving: "learner", window: { ms: 2 * DAY_MS } });
  const [first] = await recommend(model);
  tick(DAY_MS);
  await recommend(model);
  tick(HOUR_MS);
  await convert({ impressionId: first, reward: 1 });
  tick(DAY_MS);
  await recommend(model);
  await forget(model, 9);
  const [log, archive] = [await exported(model), await archiveOf(model)];
  const [day, next] = archive.volumes;
  expect(day.last).toBeGreaterThan(next.last);
  expect((await verify(() => log, undefined, archive)).tally).toMatchObject({ decisions: 3, conversions: 1 });
});

it("verifies a model that learnt its log again after the archive had taken a part of it", async () => {
  const model = await ofDays({ policy: "otf-lin-ts" });
  await forget(model);
  expect((await keysOf(model)).length).toBeGreaterThan(1);
  const relearnt = await call("POST", `/v1/models/${model}/reset`, { from: "log", policy: "otf-lin-ucb" });
  expect(relearnt.status).toBeLessThan(300);
  for (let i = 0; i < 5; i++) await runDurableObjectAlarm(learnerOf(model));
  const shown = await recommend(model, { limit: 2 });
  await convert({ impressionId: shown[0], goal: "order", reward: 1 });
  await forget(model, 3);
  const log = await exported(model);
  const { tally } = await verify(() => log, undefined, await archiveOf(model));
  expect(tally.before).toBeGreaterThan(100);
  expect(tally.decisions).toBe(2);
});

it("names the archived files of all shards, and says that it cannot put them together", async () => {
  const model = await createModel({ ...RETENTION, serving: "edge", encoder: { dimension: 16 }, shards: 3 });
  // Random ids spread the impressions over the shards, so that none is left without a file.
  for (let n = 0; n < 20; n++) {
    for (let each = 0; each < 5; each++) await show(model, { shownAt: Date.now() });
    tick(97 * MINUTE_MS);
  }
  for (let shard = 0; shard < 3; shard++) await forget(shardName(model, shard));
  const log = await exported(model);
  const { archive, shards } = JSON.parse(log[0]);
  expect(shards).toBe(3);
  expect(new Set(archive.map(({ shard }: { shard?: number }) => shard))).toEqual(new Set([undefined, 1, 2]));
  for (const { key, shard = 0 } of archive) expect(key).toContain(`model=${shardName(model, shard)}/`);
  await expect(verify(() => log)).rejects.toThrow("as the archives of 3 shards cannot be put together yet");
  const files = await archiveOf(shardName(model, 1));
  expect(() => files.before(JSON.parse(log[0]))).toThrow("expected no archive, as the model has 3 shards");
  expect((await call("DELETE", `/v1/models/${model}/archive`)).status).toBe(204);
  for (let shard = 0; shard < 3; shard++) expect(await keysOf(shardName(model, shard))).toEqual([]);
  expect(JSON.parse((await exported(model))[0]).archive).toBeUndefined();
});
