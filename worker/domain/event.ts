/** The content of a conversion event, whichever impression it belongs to. */
export interface Outcome {
  readonly goal: string;
  /** Names the event: the webhook's id and, in a batch, the item's place. */
  readonly event: string;
  /** Null retracts an earlier reward. */
  readonly reward: number | null;
  /** When the conversion happened, in ms since 1970. */
  readonly at: number;
}

/** A conversion event that names a join key instead of an impression. */
export interface KeyedEvent extends Outcome {
  /** Hash of the join key. */
  readonly key: string;
  /** The event joins only impressions of this action. Null: of any action. */
  readonly action: string | null;
}

/** A conversion event of one impression, as it was delivered. */
export interface ConversionEvent extends Outcome {
  /** UUID of the impression. */
  readonly impression: string;
}
