/** Schedules that once broke a law; they always run. */
export const keptSeeds: readonly number[] = [182];
