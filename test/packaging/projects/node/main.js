import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import * as sdk from "afterclick";
import * as slim from "afterclick/slim";
import { decide } from "../decide.js";

const module = await WebAssembly.compile(await readFile(fileURLToPath(import.meta.resolve("afterclick/core.wasm"))));
const refused = await slim.Recommender.create({ policy: slim.uniform({}), window: "none" }).catch(({ message }) => message);
console.log(JSON.stringify({ own: await decide(sdk), slim: await decide(slim, module), refused }));
