import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

/** A document for readers. */
export interface Document {
  /** Path from the root of the repository. */
  readonly path: string;
  readonly text: string;
}

/** A fenced block of a document. */
export interface Block {
  readonly language: string;
  readonly code: string;
  /** Line of its first fence, from 1. */
  readonly line: number;
}

/** The README and every document of `docs/`. */
export async function documents(): Promise<Document[]> {
  const names = (await readdir("docs")).filter((name) => name.endsWith(".md")).sort();
  const paths = ["README.md", ...names.map((name) => join("docs", name))];
  return Promise.all(paths.map(async (path) => ({ path, text: await readFile(path, "utf8") })));
}

export function blocksOf({ text }: Document): Block[] {
  return Array.from(text.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm), ({ 1: language, 2: code, index }) => {
    return { language, code, line: text.slice(0, index).split("\n").length };
  });
}
