// Prints the milliseconds from a compiled core to the first decision of a new process.
import { otfLinUcb, Recommender } from "afterclick";
import { compileCore } from "./core.ts";

const candidates = Array.from({ length: 20 }, (_, c) => ({
  id: `item-${c}`,
  features: Array.from({ length: 32 }, (_, j) => ((7 * c + 3 * j) % 11) / 11),
}));
const module = await compileCore();

const start = performance.now();
const recommender = await Recommender.create({ policy: otfLinUcb({ dimension: 32 }), window: { ms: 86_400_000 }, seed: 1, module });
recommender.recommend({ candidates, now: 0 });
console.log(performance.now() - start);
