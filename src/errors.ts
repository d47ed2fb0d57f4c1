/** Where the errors are described, each under its code. */
const HELP = "https://github.com/afterclick/afterclick/blob/main/docs/errors.md#";

/** A host or a policy cannot do what was asked: `code` says which capability is missing. */
export class UnsupportedError extends Error {
  override readonly name = "UnsupportedError";
  readonly code: string;
  /** The address of what to do about it. */
  readonly help: string;
  constructor(code: string, message: string) {
    super(message);
    this.code = code;
    this.help = HELP + code;
  }
}

/** Arithmetic left the domain in which the answer would be right; the state is unchanged. */
export class NumericalError extends Error {
  override readonly name = "NumericalError";
  readonly code: string;
  /** The address of what to do about it. */
  readonly help: string;
  constructor(code: string, message: string) {
    super(message);
    this.code = code;
    this.help = HELP + code;
  }
}

/** Bytes are not a snapshot that can be restored: cut short, altered, of another version or policy. */
export class SnapshotError extends Error {
  override readonly name = "SnapshotError";
  readonly code: string;
  /** The address of what to do about it. */
  readonly help: string;
  constructor(code: string, message: string) {
    super(message);
    this.code = code;
    this.help = HELP + code;
  }
}
