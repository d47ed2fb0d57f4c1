// A conversion as it was delivered, and what its name tells: a page's goal, a sender's record, or anything else.

import type { KeyGiver, KeyHashes } from "../ids/join-key.ts";
import { firstIdAt } from "../ids/uuid.ts";

/** The content of a conversion event, whichever impression it belongs to. */
export interface GoalEvent {
  readonly goal: string;
  /** Names the event: the webhook's id and, in a batch, the item's place. */
  readonly event: string;
  /** Null retracts an earlier reward. */
  readonly reward: number | null;
  /** Whether the amount replaces the earlier ones of a goal with a value. Otherwise it adds to them. A 0 of any goal may do so. */
  readonly restates?: boolean;
  /** Currency of an amount, as delivered. It is checked, and not stored. */
  readonly currency?: string;
  /** Whether the order renews a subscription. It is checked, and not stored. */
  readonly renewal?: boolean;
  /** When the conversion happened, in ms since 1970. */
  readonly at: number;
}

/** A conversion event that names a join key instead of an impression, as it was delivered. */
export interface KeyedEvent extends GoalEvent {
  /** Hashes of the key, as if a backend and as if a page had given it. */
  readonly key: Readonly<Record<KeyGiver, KeyHashes>>;
  /** Whether a page reported the conversion to the sender. */
  readonly byPage: boolean;
  /** The event joins only impressions of this action. Null: of any action. */
  readonly action: string | null;
}

/** The join key by which an event finds its impression. */
export interface ByKey {
  /** The hash that is stored. */
  readonly key: string;
  /** Hashes of the same key by older values of the secret. */
  readonly older?: KeyHashes;
  readonly action: string | null;
}

/** A conversion event of one impression, as it was delivered. */
export interface ConversionEvent extends GoalEvent {
  /** UUID of the impression. */
  readonly impression: string;
  /** Start of the model that decided, as the impression's token states it. Absent if the event did not come with a token. */
  readonly generation?: number;
}

/**
 * The name of a goal that a page reports. There is one for each impression and goal, so a repetition has the same. Its two spaces tell it
 * from the names of webhooks, which have at most one.
 */
export const pageEvent = (impression: string, goal: string): string => `page ${impression} ${goal}`;

/** Whether a page has reported an event. */
export const isOfPage = (event: string): boolean => /^page \S+ \S+$/.test(event);

/** Whether the name is that of a record of a sender: an order line, or its refunds. Each version of a record has a time of its own. */
export const isOfRecord = (event: string): boolean => /^\S+ (order|refund) \S/.test(event);

type Named = Pick<GoalEvent, "goal" | "event" | "at">;

/** Whether two events have one name and contradict each other. A version of a record with another time is a revision. */
export function isConflict(one: Named, other: Named): boolean {
  return one.goal === other.goal && one.event === other.event && !(isOfRecord(one.event) && one.at !== other.at);
}

/** The name under which a keyed event waits for its impression. */
export function waitingFor(hash: string, at: number): string {
  return `${firstIdAt(at)}-${hash}`;
}
