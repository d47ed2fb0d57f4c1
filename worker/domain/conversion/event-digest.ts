import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex } from "@noble/hashes/utils.js";
import type { GoalEvent } from "./event.ts";

/** Identifies an event by the hash of its join key and its name, without the key. */
export function digestOf(hash: string, { goal, event }: Pick<GoalEvent, "goal" | "event">): string {
  return bytesToHex(sha256(new TextEncoder().encode(JSON.stringify([hash, goal, event]))).subarray(0, 16));
}
