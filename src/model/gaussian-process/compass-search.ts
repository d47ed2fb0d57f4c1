import type { Core } from "../../core/core.ts";

export interface CompassSearch {
  /** The first point, d coordinates. */
  readonly start: readonly number[];
  /** For each coordinate the values of a coarse grid, which is searched after the start. */
  readonly grid: readonly (readonly number[])[];
  /** Greatest size of each coordinate. */
  readonly bounds: readonly number[];
  /** The search ends when the step is at most this. */
  readonly leastStep: number;
  /** The coordinate to try after a step to a better point. */
  readonly afterStep: "first" | "next";
  /** The value to maximise. It may return -Infinity for a point that does not exceed `toBeat`. */
  value(point: readonly number[], toBeat: number): number;
}

/** Values that a search computes, at most: more than twice as many as it needs. An approximate value may rise each time it is asked. */
const MOST_VALUES = 300;

/**
 * Maximises a function of a few coordinates, such as the logarithms of hyper-parameters.
 *
 * The search starts from the best point of a coarse grid, and steps along the coordinates while that increases the value. If no step
 * does, it halves the step. The first step is log 2. Deterministic.
 */
export function compassSearch(core: Core, { start, grid, bounds, leastStep, afterStep, value }: CompassSearch): readonly number[] {
  let best = start;
  let bestValue = value(start, Number.NEGATIVE_INFINITY);
  let values = 1;
  const attempt = (point: readonly number[]): boolean => {
    if (values >= MOST_VALUES || point.some((coordinate, i) => Math.abs(coordinate) > bounds[i])) return false;
    values++;
    const pointValue = value(point, bestValue);
    if (!(pointValue > bestValue)) return false;
    [best, bestValue] = [point, pointValue];
    return true;
  };
  const attemptGrid = (point: readonly number[]): void => {
    if (point.length === grid.length) attempt(point);
    else for (const coordinate of grid[point.length]) attemptGrid([...point, coordinate]);
  };
  attemptGrid([]);
  for (let step = core.log(2); step > leastStep; ) {
    let moved = false;
    for (let i = 0; i < start.length && !(moved && afterStep === "first"); i++) {
      const attemptAt = (coordinate: number): boolean => attempt(best.with(i, coordinate));
      moved = attemptAt(best[i] + step) || attemptAt(best[i] - step) || moved;
    }
    if (!moved) step /= 2;
  }
  return best;
}
