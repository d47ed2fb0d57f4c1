import fc from "fast-check";
import { inject } from "vitest";

declare module "vitest" {
  interface ProvidedContext {
    propertySeed: number;
  }
}

// Properties draw from this seed, so that a run of the suite depends on nothing that nobody chose.
fc.configureGlobal({ seed: inject("propertySeed") });
