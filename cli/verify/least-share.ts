/** Least probability of a logged choice, as of `LoggedDecision`. */
export const LEAST_SHARE = 1e-12;
