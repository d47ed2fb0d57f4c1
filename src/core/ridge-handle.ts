declare const brand: unique symbol;

/** A ridge posterior in the memory of the core that created it. Its fields are for `Core` alone. */
export interface RidgeHandle {
  readonly pointer: number;
  readonly dimension: number;
  readonly [brand]: "ridge";
}
