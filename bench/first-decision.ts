// Prints the milliseconds of processor time of all threads to the first decision of a new process: K D PUBLICATION [COLUMNS].
import { readFile } from "node:fs/promises";
import { compileCore } from "./core.ts";
import { decider, inputsOf } from "./shop.ts";
import { processTime } from "./variant.ts";

const [k, d, ...files] = process.argv.slice(2);
const [publication, columns] = await Promise.all(files.map((file) => readFile(file)));
const module = await compileCore();
const inputs = inputsOf({ k: Number(k), d: Number(d) });

const start = processTime();
const decide = await decider(publication, Number(d), inputs, { module, columns });
decide(0);
console.log(1000 * (processTime() - start));
