// Loaded before a process starts (--import): "afterclick" is then the package in the folder that AFTERCLICK_ROOT names.
import { registerHooks } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const parentURL = pathToFileURL(join(process.env.AFTERCLICK_ROOT as string, "package.json")).href;

registerHooks({
  resolve: (specifier, context, next) => next(specifier, /^afterclick(\/|$)/.test(specifier) ? { ...context, parentURL } : context),
});
