import { spawnSync } from "node:child_process";
import { access, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join, normalize } from "node:path";
import { policies } from "afterclick";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Match } from "../../../pages/playground/match.ts";
import { settingsOf } from "../../../pages/playground/settings.ts";
import { modelBody } from "../../../worker/protocol/schema.ts";
import { parsed } from "../../../worker/protocol/validation.ts";
import { type Answer, answersTo } from "../../support/calls.ts";
import { blocksOf, type Document, documents } from "../../support/documents.ts";

const REPOSITORY = /^https:\/\/github\.com\/afterclick\/afterclick\/(?:blob|tree)\/main\/(.*)$/;

const all = await documents();
const [readme] = all;
const textOf = (path: string): string => (all.find((document) => document.path === path) as Document).text;
/** The pages in the README's table "Where to go". */
const doors = linksOf({ ...readme, text: readme.text.split(/^## /m).find((section) => section.startsWith("Where to go")) ?? "" });
const snippets = all.flatMap((document) =>
  blocksOf(document).flatMap(({ language, code, line }) => (language === "ts" ? [[`${document.path}:${line}`, code] as const] : [])),
);

let folder: string;
beforeAll(async () => {
  // Inside the package, so that its own name resolves.
  await mkdir("build", { recursive: true });
  folder = await mkdtemp("build/documents-");
});
afterAll(() => rm(folder, { recursive: true }));

describe("snippets", () => {
  let answers: readonly Answer[];
  beforeAll(async () => {
    const files = snippets.map(([place]) => join(folder, `${place.replaceAll(/\W/g, "-")}.ts`));
    for (const [i, file] of files.entries()) await writeFile(file, snippets[i][1]);
    answers = await answersTo(files.map((file) => ({ file, args: [] })));
  });

  it.each(snippets.map(([place, code], i) => [place, code, i] as const))("%s prints what its comments say", (_, code, i) => {
    const { stdout, stderr } = answers[i];
    const printed = stdout.trim().split("\n");
    expect(printed).toEqual(Array.from(code.matchAll(/console\.log\(.*\); \/\/ (.*)/g), ([, expected]) => expected));
    expect(stderr).toBe("");
    expect(printed.length).toBeGreaterThan(0);
  });
});

/** A component of React. The repository's own are those of another library. */
const REACT = "/** @jsxImportSource react */\n";

const unrun = all.flatMap((document) => blocksOf(document).map((block) => ({ ...block, place: `${document.path}:${block.line}` })));
const inLanguage = (language: string) => unrun.filter((block) => block.language === language);

it("type-checks the snippets that need a worker, a page or a server", { timeout: 120_000 }, async () => {
  const checked = join(folder, "checked");
  await mkdir(checked);
  const snippets = inLanguage("typescript").map(({ place, code }) => [`${place.replaceAll(/\W/g, "-")}.ts`, code] as const);
  const components = inLanguage("tsx").map(({ place, code }) => [`${place.replaceAll(/\W/g, "-")}.tsx`, REACT + code] as const);
  const given = {
    "products.ts": "export declare const products: readonly { id: string; title: string; price: number }[];",
    "recommended.tsx": `${REACT}import type { Answer } from "afterclick/react";\nexport const Recommended = (_: { initial: Answer }) => <ul />;`,
    "next.d.ts": `declare module "next/headers" {
      export function cookies(): Promise<{ get(name: string): { value: string } | undefined }>;
      export function headers(): Promise<Headers>;
    }`,
    "orders.ts": "export declare function isTrue(request: Request, data: { key: string }): Promise<boolean>;",
    "assets.d.ts": 'declare module "*.wasm" { const url: string; export default url; }',
    "tsconfig.json": JSON.stringify({
      extends: "../../../tsconfig.json",
      compilerOptions: {
        types: ["node", "@cloudflare/workers-types"],
        paths: { "afterclick/worker": ["../../../worker/library.ts"], "afterclick/client": ["../../../worker/client.ts"] },
        noUnusedLocals: false,
      },
      include: ["*.ts", "*.tsx"],
      exclude: [],
    }),
  };
  for (const [name, text] of [...snippets, ...components, ...Object.entries(given)]) await writeFile(join(checked, name), text);
  const found = spawnSync(process.execPath, ["node_modules/typescript/bin/tsc", "-p", checked, "--singleThreaded"], { encoding: "utf8" });
  // The worker's own sources have a configuration of their own, with the platform's types alone.
  expect(found.stdout.split("\n").filter((line) => line.startsWith(checked) || line.startsWith("error"))).toEqual([]);
  expect([snippets.length > 3, components.length > 2]).toEqual([true, true]);
});

it("maps names in HTML to files of the package", async () => {
  for (const { code } of inLanguage("html")) {
    const { imports } = JSON.parse(/<script type="importmap">(.*?)<\/script>/s.exec(code)?.[1] as string) as {
      imports: Record<string, string>;
    };
    for (const file of Object.values(imports)) await access(join("dist", basename(file)));
  }
});

it("shows JSON that a worker takes or has printed", () => {
  for (const { code, place } of inLanguage("json")) {
    if (place.startsWith("docs/choosing.md")) parsed(modelBody, JSON.parse(code));
    else expect(() => JSON.parse(code), place).not.toThrow();
  }
});

it("knows what to do with every block", () => {
  expect(new Set(unrun.map(({ language }) => language))).toEqual(
    new Set(["ts", "typescript", "tsx", "js", "sh", "json", "http", "html", "console", "text", "sql", "python"]),
  );
});

it("is short: the README has fewer than 120 lines, and at most eight pages to go on to", () => {
  expect(readme.text.split("\n").length).toBeLessThan(120);
  expect(doors.length).toBeGreaterThan(0);
  expect(doors.length).toBeLessThanOrEqual(8);
});

it("misses as much in the match of its picture as it says", async () => {
  const [, address] = /\/playground\/(\?\S+)/.exec(readme.text) as RegExpExecArray;
  const { settings, problems } = settingsOf(address);
  expect(problems).toEqual([]);
  const match = await Match.create(settings);
  while (!match.done) match.step();
  const missed = match.report().players.map(({ regret }) => regret.at(-1)?.toFixed(1));
  const [, text] = readme.text.match(/^Three policies meet([\s\S]*?)\n\n/m) as RegExpMatchArray;
  expect(text.match(/\b\d+\.\d\b/g)).toEqual(missed);
});

it("lists every policy", () => {
  for (const { id } of policies) expect(textOf("docs/choosing.md")).toContain(`\`${id}\``);
});

it("names only scripts that there are", async () => {
  const { scripts } = JSON.parse(await readFile("package.json", "utf8"));
  for (const { path, text } of all) {
    for (const [, name] of text.matchAll(/npm run ([a-z:]+)/g)) expect(Object.keys(scripts), path).toContain(name);
  }
});

it("leads from the README to every document, over one page at most", async () => {
  const led = new Set(linksOf(readme));
  for (const path of doors) for (const link of linksOf({ path, text: await readFile(path, "utf8") })) led.add(link);
  expect(all.map(({ path }) => path).filter((path) => path !== readme.path && !led.has(path))).toEqual([]);
});

it.each(all.map((document) => [document.path, document] as const))(
  "%s: every link into this repository has a target",
  async (path, { text }) => {
    for (const [, target] of withoutCode(text).matchAll(/\]\(([^)\s]+)\)/g)) {
      // Documents link to files outside docs/ by their public address, because the site of the documents does not hold those files.
      const [, outside] = REPOSITORY.exec(target) ?? [];
      if (outside === undefined && /^[a-z]+:/.test(target)) continue;
      const [file, anchor] = (outside ?? target).split("#");
      const to = outside !== undefined ? file : file === "" ? path : normalize(join(dirname(path), file));
      await expect(access(to), `${path}: ${target}`).resolves.toBeUndefined();
      if (anchor !== undefined) expect(anchorsOf(await readFile(to, "utf8")), `${path}: ${target}`).toContain(anchor);
    }
  },
);

/** The files that a document links to. */
function linksOf({ path, text }: Document): string[] {
  return Array.from(withoutCode(text).matchAll(/\]\(([^)\s#:]+)(?:#[^)\s]*)?\)/g), ([, target]) => join(dirname(path), target));
}

function withoutCode(text: string): string {
  return text.replaceAll(/^```[\s\S]*?^```$/gm, "").replaceAll(/`[^`\n]*`/g, "code");
}

/** Anchors of a page's headings, as GitHub and VitePress write them. */
function anchorsOf(text: string): string[] {
  return Array.from(text.replaceAll(/^```[\s\S]*?^```$/gm, "").matchAll(/^#+ (.*)$/gm), ([, heading]) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_ -]/gu, "")
      .replaceAll(" ", "-"),
  );
}
