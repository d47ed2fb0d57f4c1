import { type PolicyDescriptor, type PolicyFactory, policies, Recommender } from "afterclick";
import { describe, expect, it } from "vitest";
import { readPublication } from "../../../src/local/publication.ts";
import { receiptIn } from "../../../worker/domain/ids/receipt.ts";
import { generations, kindsOf, readBytes, readFormats, readJson } from "../../fixtures/files.ts";
import { publicationWith, snapshotFormats } from "../../fixtures/formats.ts";
import { kinds } from "../../fixtures/kinds.ts";
import { goOn } from "../../fixtures/recommender.ts";
import { linesOf, relearn } from "../../fixtures/relearn.ts";

// The SDK and the page's reader of publications read the files of each generation.

const today = await snapshotFormats();
const newest = generations[generations.length - 1];
const textOf = (generation: string, kind: string) => new TextDecoder().decode(readBytes(generation, kind, "events.jsonl"));

const all = generations.flatMap((generation) => kindsOf(generation).map((kind) => [generation, kind] as const));
/** Folders whose snapshots have today's formats. Older snapshots are refused by version, but their logs stay readable. */
const current = all.filter(([generation, kind]) => {
  const { snapshot, states } = readFormats(generation);
  return snapshot === today.snapshot && states[kind] === today.states[kind];
});
const published = current.flatMap(([generation, kind]) => {
  const isRead = String(readFormats(generation).publication) === String(readFormats(newest).publication);
  return kind === "local" && isRead ? generation : [];
});

it("has a generation of what is written today; where a format changes, make one (test/fixtures/README.md)", () => {
  const { publication: _, ...formats } = readFormats(newest);
  expect(formats).toEqual(today);
  expect(kindsOf(newest)).toEqual(Object.keys(kinds).sort());
});

describe.each(current)("snapshots of %s, %s", (generation, kind) => {
  const bytes = readBytes(generation, kind, "recommender");
  const { factory, window } = kinds[kind];

  it("Recommender.restore: goes on with identical decisions, and learns the same", async () => {
    const { shown, counts, digest, answers, end } = readJson(generation, kind, "recommender.json");
    const recommender = await Recommender.restore(bytes, { policies: [factory] });
    expect([recommender.counts(), recommender.digest()]).toEqual([counts, digest]);
    expect(recommender.snapshot()).toEqual(bytes);
    expect(await goOn(recommender, "ms" in (window as object), shown)).toEqual(answers);
    expect(recommender.digest()).toBe(end);
  });

  it("Recommender.restore: reads what a worker has given out", async () => {
    const [{ digest, counts }] = readJson(generation, kind, "answers.json");
    const { policy } = await Recommender.restore(readBytes(generation, kind, "snapshot"), { policies });
    expect([policy.digest(), policy.impressions]).toEqual([digest, counts.impressions]);
  });

  it("relearn: comes to the same sums from the log, bit for bit", async () => {
    expect(await relearn(linesOf(textOf(generation, kind)))).toEqual(readJson(generation, kind, "relearnt.json"));
  });

  it("Recommender.restore: refuses a raised format version", async () => {
    const raised = bytes.slice();
    raised[4]++;
    await expect(Recommender.restore(raised, { policies })).rejects.toMatchObject({ name: "SnapshotError", code: "version" });
  });

  it("Recommender.restore: refuses the state of an earlier version of its policy", async () => {
    const later = (options: unknown): PolicyDescriptor => {
      const policy = (factory as PolicyFactory<unknown>)(options);
      return { ...policy, stateVersion: policy.stateVersion + 1 };
    };
    const refused = Recommender.restore(bytes, { policies: [Object.assign(later, { id: factory.id })] });
    await expect(refused).rejects.toMatchObject({ name: "SnapshotError", code: "state-version" });
  });
});

describe.each(published)("the publication of %s, local", (generation) => {
  const bytes = readBytes(generation, "local", "published");

  it("readPublication: holds the model as it was published", async () => {
    const [{ published, policy, window, encoder }] = readJson(generation, "local", "answers.json");
    const { version, publishedAt, config, actions, part } = await readPublication(bytes);
    expect([version, publishedAt]).toEqual([published.version, published.at]);
    expect(config).toEqual({ policy, window, encoder, draws: 100, greedy: false, minimumShare: 0 });
    expect(actions.map(({ id }) => id)).toEqual(["tent", "mug", "lamp", "stove"]);
    const { content } = linesOf(textOf(generation, "local")).find(({ seq }) => seq === version) ?? {};
    const { policy: restored } = await Recommender.restore(part as Uint8Array, { policies });
    expect(restored.impressions).toBe(content.counts.impressions);
  });

  it.each(["format", "schema"])("readPublication: refuses a raised %s", async (field) => {
    const [format, schema] = readFormats(generation).publication;
    const versions: Record<string, number> = { format, schema };
    expect(await readPublication(await publicationWith(bytes, versions))).toEqual(await readPublication(bytes));
    const raised = await publicationWith(bytes, { [field]: versions[field] + 1 });
    await expect(readPublication(raised)).rejects.toMatchObject({ name: "SnapshotError", code: "version" });
  });
});

describe.each(all)("the log of %s, %s", (generation, kind) => {
  const text = textOf(generation, kind);
  const lines = linesOf(text);

  it("is whole: each line is what its receipt is of", () => {
    let before = "";
    for (const line of text.trimEnd().split("\n")) {
      const found = receiptIn(line, before);
      expect(found?.follows).toBe(true);
      before = found?.receipt ?? "";
    }
    expect(lines.slice(1)).toHaveLength(lines[0].lines);
  });

  it("teaches a recommender of today what its model had learnt", async () => {
    const { digest: _, predictions, ...counted } = readJson(generation, kind, "relearnt.json");
    const relearnt = await relearn(lines);
    expect(relearnt).toMatchObject(counted);
    const values: number[] = predictions.flat();
    expect(relearnt.predictions.flat()).toEqual(values.map((value) => expect.closeTo(value, 9)));
  });
});

it("keeps logs with every kind of line", () => {
  const logs = kindsOf(newest).flatMap((kind) => linesOf(textOf(newest, kind)));
  const kindOf = ({ type, mark, status, state }: Record<string, string>) => [type, mark ?? status ?? state].join(" ").trim();
  expect(Array.from(new Set(logs.map((line) => kindOf(line as never)))).sort()).toEqual([
    "conversion applied",
    "conversion conflict",
    "conversion late",
    "conversion orphan",
    "conversion void",
    "erased",
    "impression deferred",
    "impression live",
    "impression void",
    "mark actions",
    "mark configuration",
    "mark erasure",
    "mark rollback",
    "mark snapshot",
    "model",
  ]);
});
