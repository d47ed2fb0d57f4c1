// A box as the domain of a Lipschitz policy, scaled to the unit cube.

import { FEATURE_LIMIT, finiteNumber, onlyKeys, outOfRange, record, wrongType } from "../../values/argument.ts";
import { type DomainSettings, parsePoints } from "../domain.ts";

/** A box: [min, max] for each axis. The policy may choose any point of it. */
export interface BoxSettings {
  readonly box: readonly (readonly [min: number, max: number])[];
}

/** A box, scaled to [0, 1] on every axis, or a finite set of points, whose distances are not scaled. */
export type RegionSettings = BoxSettings | DomainSettings;

/**
 * Checks a box or a finite set of points from untyped data.
 * @throws {TypeError | RangeError} naming the axis or the point.
 */
export function parseRegion(value: unknown, maxAxes: number): RegionSettings {
  const region = record("domain", value);
  onlyKeys("domain", region, ["box", "points"]);
  if ("box" in region === "points" in region) throw new RangeError("domain: expected either box or points");
  if ("points" in region) return parsePoints(region);
  const { box } = region;
  if (!Array.isArray(box)) throw wrongType("domain.box", "an array of [min, max]", box);
  if (box.length === 0 || box.length > maxAxes) throw outOfRange("domain.box", `1 to ${maxAxes} axes`, box);
  return { box: Array.from(box, (axis, j) => parseAxis(`domain.box[${j}]`, axis)) };
}

function parseAxis(name: string, axis: unknown): [number, number] {
  if (!Array.isArray(axis)) throw wrongType(name, "[min, max]", axis);
  if (axis.length !== 2) throw outOfRange(name, "[min, max]", axis);
  const min = finiteNumber(`${name}[0]`, axis[0], -FEATURE_LIMIT, FEATURE_LIMIT) + 0;
  const max = finiteNumber(`${name}[1]`, axis[1], -FEATURE_LIMIT, FEATURE_LIMIT) + 0;
  if (min >= max) throw outOfRange(`${name}[1]`, `more than the minimum ${min}`, max);
  return [min, max];
}

/** A box and its affine map to the unit cube. */
export class Box {
  readonly dimension: number;
  readonly #axes: BoxSettings["box"];

  constructor({ box }: BoxSettings) {
    this.dimension = box.length;
    this.#axes = box;
  }

  /**
   * The coordinates in the unit cube.
   * @throws {RangeError} if the point is outside the box.
   */
  toUnit(point: Float64Array): Float64Array {
    return point.map((coordinate, j) => {
      const [min, max] = this.#axes[j];
      if (coordinate < min || coordinate > max) throw outOfRange(`features[${j}]`, `a number between ${min} and ${max}`, coordinate);
      return (coordinate - min) / (max - min);
    });
  }

  fromUnit(unit: Float64Array): Float64Array {
    return unit.map((coordinate, j) => {
      const [min, max] = this.#axes[j];
      // Rounding must not leave the box.
      return Math.min(min + (max - min) * coordinate, max);
    });
  }
}
