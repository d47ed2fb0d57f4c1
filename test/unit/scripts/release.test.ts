import { execFileSync, spawnSync } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

const SCRIPT = resolve("scripts/release.ts");
const CHANGELOG = "# Changelog\n\n## Unreleased\n\n- A cat.\n\n## 1.0.0 - 2026-01-01\n\n- A dog.\n";

let folder: string;

function git(...args: readonly string[]): string {
  return execFileSync("git", args, { cwd: folder, encoding: "utf8" }).trim();
}

function release(...args: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [SCRIPT, ...args], { cwd: folder, encoding: "utf8" });
  return { status, stdout, stderr };
}

const text = (name: string) => readFile(join(folder, name), "utf8");

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "afterclick-release-"));
  const manifest = { name: "cats", version: "1.0.0" };
  await writeFile(join(folder, "package.json"), JSON.stringify(manifest));
  await writeFile(join(folder, "package-lock.json"), JSON.stringify({ ...manifest, packages: { "": manifest } }));
  await writeFile(join(folder, "CHANGELOG.md"), CHANGELOG);
  git("init", "--quiet", "--initial-branch", "main");
  git("config", "user.name", "Ada");
  git("config", "user.email", "ada@cats.example");
  git("add", ".");
  git("commit", "--quiet", "--message", "Cats");
});
afterEach(() => rm(folder, { recursive: true, force: true }));

it("writes the changelog and the version, commits and tags", async () => {
  expect(release("1.1.0")).toMatchObject({ status: 0, stderr: "", stdout: expect.stringContaining("git push origin main v1.1.0") });
  const today = new Date().toISOString().slice(0, 10);
  expect(await text("CHANGELOG.md")).toBe(CHANGELOG.replace("## Unreleased", `## Unreleased\n\n## 1.1.0 - ${today}`));
  expect(JSON.parse(await text("package.json"))).toEqual({ name: "cats", version: "1.1.0" });
  expect(JSON.parse(await text("package-lock.json"))).toMatchObject({ version: "1.1.0", packages: { "": { version: "1.1.0" } } });
  expect(git("status", "--porcelain")).toBe("");
  expect(git("log", "--format=%s", "-1", "v1.1.0")).toBe("Release 1.1.0");
  expect(release("1.2.0")).toMatchObject({ status: 1, stderr: expect.stringMatching(/expected entries under "## Unreleased", got none/) });
});

it("prints what it would do, and changes nothing", async () => {
  const { status, stdout } = release("1.1.0", "--dry-run");
  expect(status).toBe(0);
  expect(stdout).toMatch(/## 1\.1\.0 - \d{4}-\d\d-\d\d\n\n- A cat\.\n/);
  expect(stdout).not.toContain("A dog");
  expect([git("status", "--porcelain"), git("tag"), await text("CHANGELOG.md")]).toEqual(["", "", CHANGELOG]);
});

describe("refuses", () => {
  it.each([
    ["no version", [], /expected one VERSION, got 0/],
    ["a word", ["next"], /VERSION: expected one such as 1\.2\.3 .*, got next/],
    ["an earlier version", ["0.9.9"], /VERSION: expected 1\.0\.0 or later, got 0\.9\.9/],
    ["an unknown option", ["1.1.0", "--push"], /Unknown option '--push'/],
  ])("%s", (_, args, message) => {
    expect(release(...args)).toMatchObject({ status: 1, stderr: expect.stringMatching(message) });
  });

  it("another branch, uncommitted changes and a tag that exists", async () => {
    git("tag", "v1.1.0");
    expect(release("1.1.0").stderr).toBe("tag v1.1.0: exists; choose a later version\n");
    await writeFile(join(folder, "cat.txt"), "meow");
    expect(release("1.2.0").stderr).toBe("expected no uncommitted changes, got these; commit or stash them:\n?? cat.txt\n");
    git("switch", "--quiet", "--create", "cats");
    expect(release("1.2.0").stderr).toBe("branch: expected main, got cats; run git switch main\n");
  });
});
