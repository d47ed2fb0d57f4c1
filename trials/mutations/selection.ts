/** The tests of one run. The driver writes the selection to a JSON file, and the runner reads it. */
export interface Selection {
  /** Test files in their order of execution, each with the names of its tests. `null` selects all of them. */
  readonly files: readonly (readonly [file: string, names: readonly string[] | null])[];
  /** Whether reports state the places of instrumented code that each test reaches. */
  readonly places?: boolean;
}

/** The runner sends one as soon as a test has ended. */
export interface Report {
  readonly file: string;
  readonly name: string;
  readonly failed: boolean;
  readonly ms: number;
  /** Places reached by the test, and by its file outside any test. */
  readonly places: readonly string[];
  readonly placesOfFile: readonly string[];
}

/** The environment variable that holds the path of the selection. */
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
