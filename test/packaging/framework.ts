import { execFile } from "node:child_process";
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { describeInChromium, launchChromium } from "../support/chromium.ts";
import { started } from "../support/started.ts";
import { decidedIn, installProject, run } from "./installation.ts";

// Builds a project of a framework without configuration, and runs it. Its own lock file holds the framework, which comes from the npm registry.

const env = { NODE_ENV: "production", NEXT_TELEMETRY_DISABLED: "1", NUXT_TELEMETRY_DISABLED: "1", HOST: "127.0.0.1", PORT: "0" };
const script = 'import("./decide.js").then(async ({ decide }) => console.log(JSON.stringify(await decide(await import("afterclick")))))';

export interface Framework {
  /** Folder in `projects`. */
  readonly project: string;
  /** Arguments of Node. */
  readonly build: readonly string[];
  readonly start: readonly string[];
  readonly routes: readonly string[];
}

const NEXT = "node_modules/next/dist/bin/next";

/** Next.js as a project has it. */
export const nextIn = (project: string): Framework => ({
  project,
  build: [NEXT, "build"],
  start: [NEXT, "start", "--hostname", "127.0.0.1", "--port", "0"],
  routes: ["node", "edge"],
});

/** Its routes and its page must decide as Node does, to the bit. */
export function describeFramework(name: string, { project, build, start, routes }: Framework): void {
  describe(name, () => {
    let base: string;
    let site: Awaited<ReturnType<typeof started>>;
    let inNode: unknown;
    beforeAll(async () => {
      base = await mkdtemp(join(tmpdir(), "afterclick-framework-"));
      const cwd = await installProject(base, project);
      if (project.startsWith("next")) await cp("test/packaging/projects/next-app", join(cwd, "app"), { recursive: true });
      inNode = JSON.parse(run(cwd, process.execPath, ["-e", script]));
      await promisify(execFile)(process.execPath, build, { cwd, env: { ...process.env, ...env } });
      site = await started(cwd, start, env);
    }, 600_000);
    afterAll(async () => {
      await site?.stop();
      await rm(base, { recursive: true, force: true });
    });

    it.each(routes)("decides in the route %s", async (route) => {
      expect(await (await fetch(`${site.url}/${route}`)).json()).toEqual(inNode);
    });

    describeInChromium("in Chromium", () => {
      it("decides in a page", async () => {
        const browser = await launchChromium();
        try {
          expect(await decidedIn(browser, site.url)).toEqual({ decided: inNode, complaints: [] });
        } finally {
          await browser.close();
        }
      });
    });
  });
}
