import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { DeployError } from "./deployment.ts";

/** Names under which wrangler finds its configuration. */
const CONFIG_FILES = ["wrangler.json", "wrangler.jsonc", "wrangler.toml"];
const ENTRY = "worker.js";

const entry = [
  "// The worker: its routes at the root of its address, its learners, and the schedule that wakes them.",
  "// https://github.com/afterclick/afterclick/blob/main/docs/deploy.md shows how to mount it beside routes of your own.",
  'export { handler as default, Learner } from "afterclick/worker";',
  "",
].join("\n");

export function configFileIn(folder: string): string | undefined {
  return CONFIG_FILES.map((name) => join(folder, name)).find((file) => existsSync(file));
}

/**
 * Writes a configuration of wrangler and the worker's module to a folder that has no configuration.
 *
 * @returns the configuration's path. @throws {DeployError} if the folder has another worker.js.
 */
export async function start(folder: string, print: (line: string) => void): Promise<string> {
  const [config, module] = [join(folder, "wrangler.jsonc"), join(folder, ENTRY)];
  if (existsSync(module) && (await readFile(module, "utf8")) !== entry)
    throw new DeployError(
      `${ENTRY} is another module. Run the command in an empty folder, or write a wrangler.jsonc that names your own worker:\n` +
        "https://github.com/afterclick/afterclick/blob/main/docs/deploy.md#mount-it-in-a-worker-of-your-own",
    );
  const text = starterConfig(await readFile(packageConfig(), "utf8"));
  await writeFile(module, entry);
  await writeFile(config, text);
  print(`Wrote two files, which are yours to change:

  wrangler.jsonc   the worker's name, its bindings and its variables. Fill in AFTERCLICK_ALLOWED_ORIGINS if pages call the worker
  ${ENTRY}        the worker itself: it serves afterclick at the root of its address
`);
  return config;
}

/** The package's own configuration, for a worker of this command. */
function starterConfig(text: string): string {
  return text
    .replace(/"main": "[^"]*"/, `"main": "${ENTRY}"`)
    .replace("docs/deploy.md explains each", "https://github.com/afterclick/afterclick/blob/main/docs/deploy.md explains each");
}

/** The configuration at the root of the package. The bundle is in `dist/bin`, and this module in `cli/deploy`. */
function packageConfig(): string {
  return fileURLToPath(new URL("../../wrangler.jsonc", import.meta.url).href);
}
