import { gpTsSdf } from "./gp-ts-sdf.ts";
import { gpUcbSdf } from "./gp-ucb-sdf.ts";
import { otfLinTs } from "./otf-lin-ts.ts";
import { otfLinUcb } from "./otf-lin-ucb.ts";
import type { PolicyFactory } from "./policy.ts";
import { uniform } from "./uniform.ts";

/** Every policy of this version. Conformance tests, the worker and the README's table go by it. */
export const policies: readonly PolicyFactory[] = [otfLinUcb, otfLinTs, gpUcbSdf, gpTsSdf, uniform];
