import type * as v from "valibot";
import type { ProblemStatus } from "./problem.ts";

// How a route describes itself for `openapi.json`. Each description is a function that the worker never calls, so that bundlers leave
// its texts and its schemas of answers out.

/** A schema by its name in the document. Further entries name parts of the schema. */
export type NamedSchema = Readonly<Record<string, v.GenericSchema>>;

export interface Answer {
  readonly description: string;
  /** Absent without a JSON body. */
  readonly schema?: NamedSchema;
  readonly media?: string;
}

/** Values in examples. The document has fixed ones, a test inserts real ones. */
export interface Story {
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly impressionId: string;
  readonly publishableKey: string;
  /** A kept version. */
  readonly version: number;
}

/** One method of a route. */
export interface Operation {
  readonly id: string;
  readonly summary: string;
  readonly description?: string;
  /** Absent for the secret key, which a route for the publishable key takes too. */
  readonly key?: "publishable" | "signature" | "sender" | "none";
  readonly query?: v.ObjectSchema<v.ObjectEntries, undefined>;
  readonly body?: NamedSchema;
  /** Whether the body is JSON lines, each of the body's schema. */
  readonly lines?: boolean;
  /** Example bodies by name. */
  readonly examples?: (story: Story) => Readonly<Record<string, unknown>>;
  readonly answers: Readonly<Record<number, Answer>>;
  readonly problems: readonly ProblemStatus[];
}

/** Operations by method and path. */
export type Operations = Readonly<Record<string, Operation>>;

/** Problems of a route of a model, and of a route with a body. */
export const ofModel = [401, 403, 404, 422, 503] as const;
export const withBody = [400, 413] as const;

export const HOUR_MS = 3_600_000;
