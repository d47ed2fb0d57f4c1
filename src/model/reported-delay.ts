/** How long after its impression a conversion came, in the unit of times: what counted before, and what counts now. */
export interface ReportedDelay {
  readonly before?: number;
  readonly after?: number;
}
