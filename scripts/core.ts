// npm run build: compiles the core of all policies. npm run package compiles that of the linear ones too.
import { execFileSync } from "node:child_process";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { parseArgs } from "node:util";
import binaryen from "assemblyscript/binaryen";

/** The features of WebAssembly that AssemblyScript uses. The optimiser may use no others. */
const { BulkMemory, BulkMemoryOpt, MutableGlobals, NontrappingFPToInt, SignExt, SIMD128 } = binaryen.Features;

/**
 * Compiles a module of `assembly/`. AssemblyScript's own optimiser inlines before it simplifies, which makes the module a quarter larger
 * and no faster. Binaryen alone optimises it here. No pass changes the bits of a result.
 */
async function compile(entry: string, file: string): Promise<void> {
  const plain = `${file}.plain`;
  await mkdir(dirname(file), { recursive: true });
  // Not `asc` itself: on Windows that is a script for a shell.
  const asc = ["node_modules/assemblyscript/bin/asc.js", entry, "--config", "asconfig.json", "--outFile", plain];
  execFileSync(process.execPath, asc, { stdio: ["ignore", process.stderr.fd, "inherit"] });
  const module = binaryen.readBinary(await readFile(plain));
  module.setFeatures(BulkMemory | BulkMemoryOpt | MutableGlobals | NontrappingFPToInt | SignExt | SIMD128);
  binaryen.setOptimizeLevel(3);
  binaryen.setShrinkLevel(0);
  module.optimize();
  if (!module.validate()) throw new Error(`${entry}: the optimised module is not valid`);
  await writeFile(file, module.emitBinary());
  await rm(plain);
}

const { values } = parseArgs({
  options: {
    entry: { type: "string", default: "assembly/index.ts" },
    out: { type: "string", default: "build/core.wasm" },
  },
});
await compile(values.entry, values.out);
