import type { Core } from "../../core/core.ts";

/**
 * Maximises `value` over two log-parameters: the best of a coarse grid and of the start, then ever smaller steps.
 *
 * `value` is told what a point has to exceed, and need not find out what one is worth that does not.
 */
export function compassSearch(
  core: Core,
  start: [number, number],
  value: (point: [number, number], toBeat: number) => number,
): [number, number] {
  const bound = core.log(64);
  let best = start;
  let bestValue = value(start, Number.NEGATIVE_INFINITY);
  const attempt = (point: [number, number]): boolean => {
    if (Math.abs(point[0]) > bound || Math.abs(point[1]) > bound) return false;
    const pointValue = value(point, bestValue);
    if (!(pointValue > bestValue)) return false;
    best = point;
    bestValue = pointValue;
    return true;
  };
  for (const scale of [-2, -1, 0, 1, 2]) for (const variance of [-1, 0, 1]) attempt([scale * core.log(4), variance * core.log(8)]);
  // A step of 0.02 changes a lengthscale by 2 %, well inside its posterior spread.
  for (let step = core.log(2); step > 0.02; ) {
    const [scale, variance] = best;
    const moved =
      attempt([scale + step, variance]) ||
      attempt([scale - step, variance]) ||
      attempt([scale, variance + step]) ||
      attempt([scale, variance - step]);
    if (!moved) step /= 2;
  }
  return best;
}
