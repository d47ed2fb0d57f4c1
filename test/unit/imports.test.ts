import { readdir, readFile } from "node:fs/promises";
import { dirname, join, normalize } from "node:path";
import { expect, it } from "vitest";

// The architecture, as import lines show it: for each part, what it may import from the rest of the project.
const allowed: [part: RegExp, imports: RegExp][] = [
  [/^assembly\//, /^assembly\//],
  [/^src\/core\//, /^(src\/core\/|src\/errors|assembly\/abi)/],
  [/^src\/model\//, /^(src\/(model|core)\/|src\/(argument|errors|snapshot)|assembly\/abi)/],
  // Policies are handed a core, they never make one: its type alone is named, in the contract.
  [/^src\/policy\/(policy|rule)\.ts/, /^(src\/model\/|src\/(argument|errors|snapshot)|src\/policy\/rule|type src\/core\/)/],
  [/^src\/policy\/table\.ts/, /^src\/policy\//],
  [/^src\/policy\//, /^(src\/model\/|src\/argument|src\/policy\/rule)/],
  [/^src\/recommender\.ts/, /^(#core-module|src\/(argument|core|errors|model|pending|snapshot)|src\/policy\/(policy|rule))/],
  [/^src\/pending\.ts/, /^src\/(model\/(posterior|window)|snapshot)/],
  [/^src\/entry\//, /^(\.\/core\.wasm|src\/entry|src\/errors)/],
  [/^src\//, /^(src\/|#core-module)/],
  [/^local\//, /^(afterclick|local\/)/],
  [/^(worker|scripts|bench|experiments)\//, /^(afterclick|build\/page|worker\/|scripts\/|bench\/|experiments\/)/],
];

const IMPORT = /^(?:import|export)\s+(type\s)?(?:[^"';]*?\sfrom\s)?"([^"]+)"/gm;

async function files(): Promise<string[]> {
  const parts = await Promise.all(
    ["assembly", "src", "local", "worker", "scripts", "bench", "experiments"].map(async (part) =>
      (await readdir(part, { recursive: true }).catch(() => [])).map((name) => join(part, name)),
    ),
  );
  return parts.flat().filter((name) => name.endsWith(".ts") && !name.includes("__tests__"));
}

/** The project's own modules that a file imports, each as a path from the root, with "type " before type-only ones. */
async function importsOf(file: string): Promise<string[]> {
  const text = await readFile(file, "utf8");
  return Array.from(text.matchAll(IMPORT), ([, type = "", path]) => {
    const target = path.startsWith(".") && !path.endsWith(".wasm") ? normalize(join(dirname(file), path)) : path;
    return `${type ? "type " : ""}${target}`;
  }).filter((target) => /^(type )?(\.|#|afterclick|assembly|src|local|worker|scripts|bench|experiments)/.test(target));
}

it("imports only what each part may", async () => {
  const wrong: string[] = [];
  let lines = 0;
  for (const file of await files()) {
    const rule = allowed.find(([part]) => part.test(file));
    if (!rule) throw new Error(`${file} belongs to no part`);
    for (const target of await importsOf(file)) {
      lines++;
      if (!rule[1].test(target) && !rule[1].test(target.replace("type ", ""))) wrong.push(`${file} imports ${target}`);
    }
  }
  expect(wrong).toEqual([]);
  expect(lines).toBeGreaterThan(50);
});

it("says WebAssembly only at the seam and at the entries that load it", async () => {
  const speakers: string[] = [];
  for (const file of await files()) {
    if (!/^src\/(model|policy|pending|snapshot|encoder|argument)/.test(file)) continue;
    if (/WebAssembly|pointer|status code/.test((await readFile(file, "utf8")).replace(/\/\/.*|\/\*[\s\S]*?\*\//g, ""))) speakers.push(file);
  }
  expect(speakers).toEqual([]);
});

it("uses no clock, no randomness and no transcendental function of the host in the SDK", async () => {
  for (const file of (await files()).filter((name) => name.startsWith("src/") || name.startsWith("assembly/"))) {
    const code = (await readFile(file, "utf8")).replace(/\/\/.*|\/\*[\s\S]*?\*\//g, "");
    if (file.startsWith("src/")) expect(code, file).not.toMatch(/Math\.(random|exp|log|pow|sin|cos|tan|hypot|cbrt)|\*\*/);
    expect(code, file).not.toMatch(/Date\.now|new Date|performance\.now|console\./);
  }
});
