/** The document that describes each error under its code. */
const HELP = "https://github.com/afterclick/afterclick/blob/main/docs/errors.md#";

/** A host or a policy lacks a capability, which `code` names. */
export class UnsupportedError extends Error {
  override readonly name = "UnsupportedError";
  readonly code: string;
  /** Address of the remedy. */
  readonly help: string;
  constructor(code: string, message: string) {
    super(message);
    this.code = code;
    this.help = HELP + code;
  }
}

/** A computation has no correct finite result. The state is unchanged. */
export class NumericalError extends Error {
  override readonly name = "NumericalError";
  readonly code: string;
  /** Address of the remedy. */
  readonly help: string;
  constructor(code: string, message: string) {
    super(message);
    this.code = code;
    this.help = HELP + code;
  }
}

/** Bytes that cannot be restored as a snapshot: truncated, altered, or of another version or policy. */
export class SnapshotError extends Error {
  override readonly name = "SnapshotError";
  readonly code: string;
  /** Address of the remedy. */
  readonly help: string;
  constructor(code: string, message: string) {
    super(message);
    this.code = code;
    this.help = HELP + code;
  }
}
