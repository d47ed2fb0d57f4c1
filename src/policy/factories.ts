// Every policy, with its options. The SDK exports what is here. `table.ts` lists the factories.

export * from "./recommended/bestsellers.ts";
export * from "./recommended/delay-gp-ts.ts";
export * from "./recommended/delay-gp-ucb.ts";
export * from "./recommended/delay-lin-ts.ts";
export * from "./recommended/delay-lin-ucb.ts";
export * from "./recommended/delayed-zooming.ts";
export * from "./recommended/gp-bts.ts";
export * from "./recommended/gp-bucb.ts";
export * from "./recommended/gp-ucb-sdf.ts";
export * from "./recommended/mini-gp-ucb.ts";
export * from "./research/asy-ts.ts";
export * from "./research/bpe.ts";
export * from "./research/bpe-delay.ts";
export * from "./research/dlpp.ts";
export * from "./research/epsilon-greedy.ts";
export * from "./research/gp-ei.ts";
export * from "./research/gp-ts-sdf.ts";
export * from "./research/gp-ucb.ts";
export * from "./research/mini-gp-ei.ts";
export * from "./research/otf-lin-ts.ts";
export * from "./research/otf-lin-ucb.ts";
export * from "./research/uniform.ts";
