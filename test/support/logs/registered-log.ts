// The log of a shop whose impressions were all registered, so that a replay learns them and decides none.
import { ArchivedLog, type NamedFile } from "../../../cli/archive/whole-log.ts";
import { ArchiveFile, type ArchiveHead, encodeFile } from "../../../worker/domain/archive/archive-file.ts";
import { uuidAt } from "../../../worker/domain/ids/uuid.ts";
import type { EventLine } from "../../../worker/domain/log/log-line.ts";
import { config as base, whole } from "./log-lines.ts";

export const DAY_MS = 86_400_000;
export const START = Date.UTC(2026, 0, 1);

export const config = { ...base, examination: [1], window: { ms: 5 * DAY_MS } };
export const configuration = { type: "mark", seq: 1, mark: "configuration", content: config };

/** The id of an impression shown at a time. */
export const idAt = (shownAt: number, number = 0): string => uuidAt(shownAt, Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0, 0, number));

export function impressionAt(seq: number, round: number, shownAt: number, fields: object = {}) {
  return {
    ...{ type: "impression", seq, id: idAt(shownAt), state: "live", arm: "policy", action: "hat", round, version: 1, reward: null },
    ...{ context: null, decision: null, converted: false, shownAt, features: [], hashes: [], ...fields },
  };
}

export function conversionOf(seq: number, shownAt: number, at: number, fields: object = {}) {
  return {
    ...{ type: "conversion", seq, impression: idAt(shownAt), goal: "conversion", event: `e${seq}`, reward: 1, at, status: "applied" },
    ...fields,
  };
}

/** The head of a log of so many lines, whose last event has the number `modelVersion`. */
export function headOf(lines: number, modelVersion: number, fields: object = {}) {
  return {
    ...{ type: "model", model: "shop", generation: START, horizon: START, modelVersion, after: 0, lines, exportedAt: START + 9 * DAY_MS },
    ...{ digest: null, config, ...fields },
  };
}

/** An archived file with these lines. Its SHA-256 is its name. */
export async function fileOf(name: string, lines: readonly object[], head: Partial<ArchiveHead>): Promise<NamedFile> {
  const described = { model: "shop", generation: START, from: START, until: START + DAY_MS, whole: 1, version: 1, ...head };
  const encoded = await encodeFile(described, lines.map(whole) as unknown as EventLine[], async () => {});
  const bytes = encoded?.bytes ?? new Uint8Array();
  const slice = async (start: number, end?: number) => bytes.slice(start, end).buffer;
  return { name, file: await ArchiveFile.open(name, { byteLength: bytes.length, slice }), sha256: async () => name };
}

/** The archive of a model. A file holds the rows shown on a day, and is in the state of the last event. */
export async function archiveOf(days: readonly (readonly object[])[], version: number): Promise<ArchivedLog> {
  const files = days.map((lines, day) =>
    fileOf(`day-${day}`, lines, { from: START + day * DAY_MS, until: START + (day + 1) * DAY_MS, version, whole: version + 1 }),
  );
  return new ArchivedLog(await Promise.all(files));
}
