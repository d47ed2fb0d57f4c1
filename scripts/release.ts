// Makes a release commit and its tag on this machine. The workflow release.yml publishes what the tag holds.
import { execFileSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { command } from "../cli/command/command.ts";

const USAGE = `Usage: npm run release -- VERSION [--dry-run]

Example: npm run release -- 1.2.3 --dry-run

Moves the section "Unreleased" of CHANGELOG.md under VERSION and today's date, sets the version in package.json and
package-lock.json, commits, and tags the commit as vVERSION. It pushes nothing.

  --dry-run   prints what it would do, and changes nothing

The branch must be main, without uncommitted changes.`;

const VERSION = /^(\d+)\.(\d+)\.(\d+)(?:-[0-9A-Za-z.-]+)?$/;
const HEADING = "## Unreleased";
const FILES = ["CHANGELOG.md", "package.json", "package-lock.json"];

class ReleaseError extends Error {}

function git(...args: readonly string[]): string {
  return execFileSync("git", args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] }).trim();
}

/** @throws {ReleaseError} if VERSION is no version, or not later than the current one. The current one may be released while it has no tag. */
function checkVersion(version: string, current: string): void {
  const [given, now] = [VERSION.exec(version), VERSION.exec(current)];
  if (!given) throw new ReleaseError(`VERSION: expected one such as 1.2.3 or 1.2.3-beta.1, got ${version}`);
  if (!now) throw new ReleaseError(`package.json: expected a version such as 1.2.3, got ${current}`);
  const [a, b] = [given, now].map((parts) => parts.slice(1, 4).map(Number));
  const place = a.findIndex((part, i) => part !== b[i]);
  if (place >= 0 && a[place] < b[place]) throw new ReleaseError(`VERSION: expected ${current} or later, got ${version}`);
}

function checkRepository(version: string): void {
  const branch = git("branch", "--show-current");
  if (branch !== "main") throw new ReleaseError(`branch: expected main, got ${branch || "none"}; run git switch main`);
  const changed = git("status", "--porcelain");
  if (changed) throw new ReleaseError(`expected no uncommitted changes, got these; commit or stash them:\n${changed}`);
  if (git("tag", "--list", `v${version}`)) throw new ReleaseError(`tag v${version}: exists; choose a later version`);
}

/** The entries of the section "Unreleased". @throws {ReleaseError} if there is no such section, or it is empty. */
function unreleased(changelog: string): string {
  const start = changelog.indexOf(`\n${HEADING}\n`);
  if (start < 0) throw new ReleaseError(`CHANGELOG.md: expected a section "${HEADING}", got none; add it with the changes of this release`);
  const [section] = changelog.slice(start + HEADING.length + 2).split(/^## /m, 1);
  if (!/^- /m.test(section)) throw new ReleaseError(`CHANGELOG.md: expected entries under "${HEADING}", got none; add them as "- ..."`);
  return section.trim();
}

/** Replaces the version in the text of a package.json or package-lock.json, and keeps its format. */
function withVersion(json: string, version: string): string {
  const content = JSON.parse(json);
  content.version = version;
  if (content.packages?.[""]) content.packages[""].version = version;
  return `${JSON.stringify(content, null, 2)}\n`;
}

async function main(values: { readonly "dry-run": boolean }, version: string): Promise<void> {
  const [changelog, manifest, lock] = await Promise.all(FILES.map((name) => readFile(name, "utf8")));
  checkVersion(version, JSON.parse(manifest).version);
  checkRepository(version);
  const entries = unreleased(changelog);
  const heading = `## ${version} - ${new Date().toISOString().slice(0, 10)}`;
  if (values["dry-run"]) {
    console.log(`Would write to CHANGELOG.md:\n\n${heading}\n\n${entries}\n`);
    console.log(`Would set the version in package.json and package-lock.json to ${version}, commit, and tag the commit v${version}.`);
    return;
  }
  const moved = changelog.replace(`${HEADING}\n`, () => `${HEADING}\n\n${heading}\n`);
  await writeFile("CHANGELOG.md", moved);
  await writeFile("package.json", withVersion(manifest, version));
  await writeFile("package-lock.json", withVersion(lock, version));
  git("commit", "--quiet", "--message", `Release ${version}`, "--", ...FILES);
  git("tag", "--annotate", `v${version}`, "--message", `afterclick ${version}`);
  console.log(`Committed and tagged v${version}. To publish it:\n\n  git push origin main v${version}`);
}

await command({
  usage: USAGE,
  options: { "dry-run": { type: "boolean", default: false } },
  argument: "VERSION",
  known: [ReleaseError],
  run: main,
});
