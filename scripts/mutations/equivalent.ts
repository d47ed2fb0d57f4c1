/** A mutant that no test can find, as it changes nothing that anybody can see. */
export interface Equivalent {
  readonly file: string;
  readonly original: string;
  readonly replacement: string;
  /** The argument. */
  readonly why: string;
}

export const equivalents: readonly Equivalent[] = [];
