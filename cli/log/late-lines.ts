interface Times {
  /** The figures are as of this time. */
  readonly asOf: number;
  /** The moment until which the log has all conversions. */
  readonly completeUntil: number;
  readonly end: number;
}

/** Says that conversions are reported late, if the log shows it and it matters for the figures. */
export function lateLines({ asOf, completeUntil, end }: Times): string[] {
  if (completeUntil >= end || asOf < completeUntil) return [];
  const until = new Date(completeUntil).toISOString();
  if (asOf > completeUntil) return [`  warning: the log has all conversions until ${until} only, because they are reported late`];
  return ["  later conversions are not all in the log: they are reported late, as in a nightly upload"];
}
