// Moves old rows into R2. No row is forgotten before the bucket has confirmed its file.

import { bytesToHex } from "@noble/hashes/utils.js";
import { ArchiveError, ArchiveFile, type EncodedFile, encodeFile } from "../../domain/archive/archive-file.ts";
import type { KeyHashes } from "../../domain/ids/join-key.ts";
import { SEPARATOR } from "../../domain/ids/shard.ts";
import { shownAtOf } from "../../domain/ids/uuid.ts";
import { type EventLine, type HeldLine, impressionOf } from "../../domain/log/log-line.ts";
import { exportedLine, type LogRow } from "../../domain/log/log-row.ts";
import { Problem } from "../../protocol/problem.ts";
import { dayOf, type Part, type Volume } from "../store/archive-store.ts";
import type { LearnerStore } from "../store/learner-store.ts";
import { Turns } from "../turns.ts";

/** Files of one alarm, because encoding one takes up to three seconds. */
const FILES_AT_ONCE = 2;
/** Objects that one call deletes. */
const DELETED_AT_ONCE = 1000;

/**
 * Moves rows into an R2 bucket before they are forgotten, a day at a time, as Parquet files. Its calls run one after the other. After an
 * interruption the same file is written again under the same key.
 */
export class Archive {
  readonly #bucket: R2Bucket;
  readonly #store: LearnerStore;
  readonly #turns = new Turns();

  constructor(bucket: R2Bucket, store: LearnerStore) {
    this.#bucket = bucket;
    this.#store = store;
  }

  /** End of the day whose rows are archived and forgotten together with those of a time. */
  untilOf(shownAt: number): number {
    return dayOf(shownAt, this.#store.model.config.window.ms).until;
  }

  /**
   * Writes some files of the oldest day that is due.
   * @param before rows shown before this time may be forgotten. @param forget deletes the rows of a volume, in a transaction with `andThen`.
   */
  run(before: number, forget: (volume: Volume, andThen: () => void) => Promise<void>): Promise<void> {
    return this.#turns.take(async () => {
      const volume = this.#store.exists && this.#volume(before);
      if (!volume) return;
      for (let files = 0; files < FILES_AT_ONCE; files++) {
        if (await this.#write(volume)) continue;
        await this.#confirm(volume);
        await forget(volume, () => {
          this.#check(volume);
          this.#store.archive.finish(volume);
        });
        return;
      }
    });
  }

  /** The volume in progress, or one that begins. */
  #volume(before: number): Volume | undefined {
    const { archive } = this.#store;
    const begun = archive.volume;
    if (begun && !archive.isUndone(begun)) return begun;
    if (begun) this.#store.transact(() => archive.giveUp(begun));
    const oldest = this.#store.oldestSince(0);
    if (oldest === undefined || this.untilOf(oldest) > before) return undefined;
    const { config, horizon } = this.#store.model;
    return this.#store.transact(() => archive.begin(oldest, config.window.ms, horizon));
  }

  /** @throws {Problem} 503 if a reset or a rollback has changed the volume's rows. */
  #check(volume: Volume): void {
    const { archive } = this.#store;
    if (JSON.stringify(archive.volume) !== JSON.stringify(volume) || archive.isUndone(volume)) {
      throw new Problem(503, "the rows have changed while they were archived; the alarm tries again");
    }
  }

  /** Writes the next file of a volume. Returns false if nothing is left. */
  async #write(volume: Volume): Promise<boolean> {
    const { archive } = this.#store;
    const { name: model, generation } = this.#store.model;
    const ofDay = archive.parts([volume.day]);
    const last = ofDay.findLast(({ until }) => until === volume.until)?.last ?? 0;
    const { day, from, until, marksBefore: whole, version } = volume;
    const head = { model, generation, from, until, whole, version };
    const file = await encodeFile(head, linesOf(archive.rows(volume, last)), () => scheduler.wait(0));
    if (!file) return false;
    const part = ofDay.length;
    const key = `${this.#folder(day)}${String(part).padStart(4, "0")}.parquet`;
    const sha256 = await this.#put(key, file.bytes, await this.#bucket.head(key));
    this.#store.transact(() => {
      this.#check(volume);
      archive.insert({ key, day, part, from, until, last: file.head.last, rows: file.head.rows, sha256 });
    });
    return true;
  }

  #folder(day: number): string {
    const { name, generation } = this.#store.model;
    return `model=${name}/generation=${generation}/day=${new Date(day).toISOString().slice(0, 10)}/`;
  }

  /** Puts a file unless the bucket has it. Another writer's object is never replaced unseen. */
  async #put(key: string, bytes: Uint8Array<ArrayBuffer>, known: R2Object | null): Promise<string> {
    const digest = await crypto.subtle.digest("SHA-256", bytes);
    const sha256 = bytesToHex(new Uint8Array(digest));
    const stored = known?.checksums.sha256;
    if (stored && bytesToHex(new Uint8Array(stored)) === sha256) return sha256;
    this.#store.transact(() => this.#store.archive.announce(key, sha256));
    const onlyIf = known ? { etagMatches: known.etag } : { etagDoesNotMatch: "*" };
    const httpMetadata = { contentType: "application/vnd.apache.parquet" };
    const put = await this.#bucket.put(key, bytes, { sha256: digest, onlyIf, httpMetadata });
    if (!put) throw new Problem(503, `${key}: another call has written the file meanwhile; try again`);
    return sha256;
  }

  /** Compares a volume's folder with the noted files. */
  async #confirm(volume: Volume): Promise<void> {
    const [lost] = await this.#tidy(volume);
    if (lost === undefined) return;
    // A lost file cannot be written again once its rows are forgotten.
    this.#store.transact(() => {
      this.#check(volume);
      this.#store.archive.giveUp(volume);
    });
    throw new Problem(503, `${lost}: the bucket has lost the file; the alarm writes it again`);
  }

  /** Deletes the files of a volume's folder that no part is, as an interrupted attempt leaves them. Returns the parts that the bucket lacks. */
  async #tidy({ day }: Volume): Promise<Set<string>> {
    const parts = new Set(this.#store.archive.parts([day]).map(({ key }) => key));
    const left: string[] = [];
    for await (const key of this.#keys(this.#folder(day))) {
      if (!parts.delete(key)) left.push(key);
    }
    if (left.length > 0) await this.#bucket.delete(left);
    return parts;
  }

  /**
   * Makes a change that deletes the model's rows, after the file that is being written. The files of an unfinished volume are deleted first:
   * their rows are not archived yet.
   */
  abandon(change: () => Promise<void>): Promise<void> {
    return this.#turns.take(async () => {
      const volume = this.#store.exists && this.#store.archive.volume;
      if (volume) {
        this.#store.transact(() => this.#store.archive.giveUp(volume));
        await this.#tidy(volume);
      }
      await change();
    });
  }

  async *#keys(prefix: string): AsyncGenerator<string> {
    let cursor: string | undefined;
    do {
      const page = await this.#bucket.list({ prefix, cursor });
      for (const { key } of page.objects) yield key;
      cursor = page.truncated ? page.cursor : undefined;
    } while (cursor !== undefined);
  }

  /**
   * Empties impressions and their conversions in the files.
   * @returns the ids of the impressions that were found. @throws {Problem} 500 naming a file that was altered, after all others.
   */
  erase(ids: readonly string[]): Promise<Set<string>> {
    const sought = new Set(ids);
    return this.#turns.take(async () => {
      const times = ids.map(shownAtOf);
      const holds = ({ from, until }: Part) => times.some((time) => time >= from && time < until);
      const errors: Errors = new Map();
      const found = await this.#rewrite(this.#store.archive.parts().filter(holds), errors, (line) => sought.has(impressionOf(line)));
      this.#settle(errors);
      return found;
    });
  }

  /** Empties the impressions of a join key, with all their conversions, and other conversions that came with it. **Cost:** reads every file. */
  eraseKey(hashes: KeyHashes): Promise<Set<string>> {
    return this.#turns.take(async () => {
      const errors: Errors = new Map();
      const { parts, ids, has } = await this.#holding(hashes, errors);
      await this.#rewrite(parts, errors, has);
      this.#settle(errors);
      return ids;
    });
  }

  /** The lines that `eraseKey` would empty. @throws {Problem} 500 naming a file that was altered. **Cost:** reads every file. */
  withKey(hashes: KeyHashes): Promise<HeldLine[]> {
    return this.#turns.take(async () => {
      const [lines, errors] = [[] as HeldLine[], new Map() as Errors];
      const { parts, has } = await this.#holding(hashes, errors);
      await each(parts, errors, async (part) => {
        const { file } = await this.#open(part);
        for await (const group of file.groups()) lines.push(...group.filter(isHeld).filter(has));
      });
      this.#settle(errors);
      return lines;
    });
  }

  /** The files with impressions of a join key or conversions that came with it, the ids of the impressions, and which lines are theirs. */
  async #holding(hashes: KeyHashes, errors: Errors) {
    const sought = new Set(hashes);
    const names = (line: EventLine) =>
      (line.type === "conversion" && line.hash !== undefined && sought.has(line.hash)) ||
      (line.type === "impression" && line.hashes.some((each) => sought.has(each)));
    const [ids, spans] = [new Set<string>(), new Set<number>()];
    const parts = this.#store.archive.parts();
    await each(parts, errors, async (part) => {
      const { file } = await this.#open(part);
      for await (const lines of file.groups(["type", "seq", "id", "hash", "hashes"])) {
        for (const line of lines.filter(names)) {
          if (line.type === "impression") ids.add(line.id);
          spans.add(part.until);
        }
      }
    });
    const has = (line: HeldLine) => ids.has(impressionOf(line)) || names(line);
    return { parts: parts.filter(({ until }) => spans.has(until)), ids, has };
  }

  async #rewrite(parts: readonly Part[], errors: Errors, isErased: (line: HeldLine) => boolean): Promise<Set<string>> {
    const found = new Set<string>();
    await each(parts, errors, async (part) => {
      const { key } = part;
      const { file, object } = await this.#open(part);
      const left: EncodedFile | undefined = await file.without((line) => {
        if (!isErased(line)) return false;
        if (line.type === "impression") found.add(line.id);
        return true;
      });
      if (!left) return;
      const sha256 = await this.#put(key, left.bytes, object);
      this.#store.transact(() => this.#store.archive.replace(key, sha256));
    });
    return found;
  }

  /** Counts the files that are lost or altered. @throws {Problem} 500 naming the first that was altered. A lost one has nothing to erase. */
  #settle(errors: Errors): void {
    const all = Array.from(errors.values());
    const damaged = all.filter((error) => error instanceof ArchiveError);
    if (damaged.length > 0) this.#store.transact(() => this.#store.database.count("damaged", damaged.length));
    const first = all.find((error) => !(error instanceof LostFile));
    if (first) throw first instanceof ArchiveError ? new Problem(500, first.message) : first;
  }

  /** Compares a file with its digest before anything is read of it: an altered byte may stand for any count. */
  async #open({ key, sha256, digests }: Part): Promise<{ readonly file: ArchiveFile; readonly object: R2Object }> {
    const object = await this.#bucket.get(key);
    if (!object) throw new LostFile(key);
    const bytes = await object.arrayBuffer();
    const own = bytesToHex(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
    if (!digests.includes(own)) {
      const remedy = "put back a copy of that one, or delete the file, and send the call again";
      throw new ArchiveError(`${key}: expected the file with SHA-256 ${sha256}, got ${bytes.byteLength} bytes with ${own}: ${remedy}`);
    }
    if (own !== sha256) this.#store.transact(() => this.#store.archive.replace(key, own));
    const slice = async (start: number, end?: number) => bytes.slice(start, end);
    return { file: await ArchiveFile.open(key, { byteLength: bytes.byteLength, slice }), object };
  }

  /** Deletes the files of all generations of the model, which may be deleted, and of its shards. A volume in progress begins again. */
  deleteAll(model: string): Promise<void> {
    return this.#turns.take(async () => {
      const keys: string[] = [];
      for (const prefix of [`model=${model}/`, `model=${model}${SEPARATOR}`]) for await (const key of this.#keys(prefix)) keys.push(key);
      if (this.#store.exists) this.#store.transact(() => this.#store.archive.deleteParts());
      for (let i = 0; i < keys.length; i += DELETED_AT_ONCE) await this.#bucket.delete(keys.slice(i, i + DELETED_AT_ONCE));
    });
  }
}

/** A file that the bucket does not have. */
class LostFile extends ArchiveError {}

/** What failed, by the key of the file. */
type Errors = Map<string, unknown>;

/** Goes on after a file that fails, and leaves out those that have failed. */
async function each(parts: readonly Part[], errors: Errors, work: (part: Part) => Promise<void>): Promise<void> {
  for (const part of parts) if (!errors.has(part.key)) await work(part).catch((error) => errors.set(part.key, error));
}

const isHeld = (line: EventLine): line is HeldLine => line.type === "impression" || line.type === "conversion";

function* linesOf(rows: Iterable<LogRow>): Generator<EventLine> {
  for (const row of rows) yield exportedLine(row);
}
