/** Maps values to CSS percentages of a line that spans all of them, with a margin of 4 % at either end. */
export function scaleOf(values: readonly number[]): {
  readonly most: number;
  readonly place: (value: number) => string;
} {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const room = 0.04 * (high - low || 1);
  const [least, most] = [low - room, high + room];
  return { most, place: (value) => `${(100 * (value - least)) / (most - least)}%` };
}
