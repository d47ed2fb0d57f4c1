import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import * as sdk from "afterclick";
import * as slim from "afterclick/slim";
import { decide } from "../decide.js";

const module = await WebAssembly.compile(await readFile(fileURLToPath(import.meta.resolve("afterclick/core.wasm"))));
const linear = await WebAssembly.compile(await readFile(fileURLToPath(import.meta.resolve("afterclick/linear.wasm"))));
const kernel = slim.squaredExponential({ lengthscale: 1, variance: 1 });
const gp = { policy: slim.gpUcbSdf({ dimension: 2, kernel, noiseVariance: 1 }), window: "none", module: linear };
const missing = await slim.Recommender.create(gp).catch(({ code }) => code);
const refused = await slim.Recommender.create({ policy: slim.uniform({}), window: "none" }).catch(({ message }) => message);
console.log(
  JSON.stringify({ own: await decide(sdk), slim: await decide(slim, module), linear: await decide(slim, linear), missing, refused }),
);
