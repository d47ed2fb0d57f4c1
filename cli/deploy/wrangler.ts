import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { DeployError, type WranglerConfig } from "./deployment.ts";

/** Packages that the worker's bundle takes from its folder. */
const BUNDLED = ["afterclick", "hono", "valibot"];

export interface Wrangler {
  /** Module to run with Node. */
  readonly path: string;
  /** @throws if the file is malformed. */
  readConfig(file: string): WranglerConfig;
}

/** Finds wrangler among the packages of a folder. @throws {DeployError} naming every package that is missing. */
export async function installedWrangler(folder: string): Promise<Wrangler> {
  const require = createRequire(join(resolve(folder), "package.json"));
  const found = (name: string): string | undefined => {
    try {
      return require.resolve(name);
    } catch {
      return undefined;
    }
  };
  const path = found("wrangler");
  const missing = BUNDLED.filter((name) => !found(name));
  if (!path || missing.length > 0) {
    const commands = [
      ...(missing.length > 0 ? [`  npm install ${missing.join(" ")}`] : []),
      ...(path ? [] : ["  npm install --save-dev wrangler"]),
    ];
    throw new DeployError(
      `This folder lacks packages: ${[...missing, ...(path ? [] : ["wrangler"])].join(", ")}. Install them, then run the command again:\n\n${commands.join("\n")}\n`,
    );
  }
  const { experimental_readRawConfig } = (await import(pathToFileURL(path).href)) as typeof import("wrangler");
  return { path, readConfig: (file) => experimental_readRawConfig({ config: file }).rawConfig as unknown as WranglerConfig };
}
