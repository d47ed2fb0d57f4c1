/** Which tests a run of the suite plays, and what it notes. Handed from the driver to the runner as JSON in the environment. */
export interface Selection {
  /** Test files in the order in which they run, each with the names of its tests; `null`: all of them. */
  readonly files: readonly (readonly [file: string, names: readonly string[] | null])[];
  /** Notes the places of instrumented code that each test reaches. */
  readonly places?: boolean;
}

/** What the runner says of a test as soon as it has ended. */
export interface Report {
  readonly file: string;
  readonly name: string;
  readonly failed: boolean;
  readonly ms: number;
  /** Reached by the test, and outside any test of its file. */
  readonly places: readonly string[];
  readonly placesOfFile: readonly string[];
}

/** Name of the variable that holds the path of the selection's file. */
export const SELECTION = "AFTERCLICK_SELECTION";

declare module "vitest" {
  interface ProvidedContext {
    selection: Selection;
  }
  interface TaskMeta {
    places?: string[];
    placesOfFile?: string[];
  }
}
