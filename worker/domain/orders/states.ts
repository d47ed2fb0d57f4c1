// The states of an order, and whether its amount counts in each.

/** The states in the order of an order's life. Of two reports of one moment the later state counts. */
export const STATES = {
  draft: { counts: false, meaning: "The cart is saved, and nobody has bought." },
  pending: { counts: false, meaning: "The order is placed, and the money has not come." },
  authorised: { counts: false, meaning: "The money is reserved, and not captured." },
  part: { counts: true, meaning: "Only a part was paid or captured. The lines' amounts shrink to that part." },
  paid: { counts: true, meaning: "The lines count, less the refunds. An edited order counts as it was last reported." },
  refunded: { counts: false, meaning: "All of it was paid back." },
  voided: { counts: false, meaning: "The payment was given up, and takes no money any more." },
  cancelled: { counts: false, meaning: "The order was called off, or has failed." },
} as const satisfies Readonly<Record<string, { readonly counts: boolean; readonly meaning: string }>>;

export type State = keyof typeof STATES;

const RANKS = Object.keys(STATES);

/** Place of a state in the life of an order. */
export const rankOf = (state: State): number => RANKS.indexOf(state);
