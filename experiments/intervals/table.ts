import { delayLaw } from "./delay-law.ts";
import { evaluation } from "./evaluation.ts";
import { examination } from "./examination.ts";
import { lift } from "./lift.ts";
import { means } from "./means.ts";
import { slowLift } from "./slow-lift.ts";
import type { StatedFigure } from "./stated-figure.ts";

/** All figures that the product states with an interval. */
export const figures: readonly StatedFigure[] = [delayLaw, evaluation, examination, lift, slowLift, means];
