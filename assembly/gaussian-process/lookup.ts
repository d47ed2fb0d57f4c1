// The row of a point in a Gaussian process, by a scan: at sizes with an affordable O(n^2), O(n) costs next to nothing.

import { GaussianProcess } from "./gaussian-process";

/** The row of a point with equal features, or -1. **Cost:** O(n), as most points differ early. */
export function gpFind(gp: GaussianProcess, x: usize): i32 {
  return findPoint(gp.points, gp.size, x, gp.dimension << 3);
}

/** The first of n points (of `bytes` bytes each) that equals x, or -1. -0 equals 0. */
export function findPoint(points: usize, n: usize, x: usize, bytes: usize): i32 {
  for (let i: usize = 0; i < n; i++, points += bytes) {
    let j: usize = 0;
    while (j < bytes && load<f64>(points + j) == load<f64>(x + j)) j += 8;
    if (j == bytes) return <i32>i;
  }
  return -1;
}

/** The row that minimises sum_j ((x_j - point_j) / scales_j)^2, the lowest among equals, or -1 without rows. */
export function gpNearest(gp: GaussianProcess, x: usize, scales: usize): i32 {
  const bytes = gp.dimension << 3;
  let nearest = -1;
  let least = Infinity;
  let point = gp.points;
  for (let i: usize = 0; i < gp.size; i++, point += bytes) {
    let square: f64 = 0;
    for (let j: usize = 0; j < bytes; j += 8) {
      const difference = (load<f64>(x + j) - load<f64>(point + j)) / load<f64>(scales + j);
      square += difference * difference;
    }
    if (square < least || nearest < 0) {
      least = square;
      nearest = <i32>i;
    }
  }
  return nearest;
}
