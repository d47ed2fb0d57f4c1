import { ENCODER_VERSION } from "afterclick/research";
import { receipted } from "../../../worker/domain/ids/receipt.ts";
import { withDefaults } from "../../../worker/domain/model/model.ts";

// Lines of a log by the fields that matter to a test. The other fields are filled in, because a log has whole lines alone.

type Fields = Readonly<Record<string, unknown>>;

/** The configuration of a uniform policy. */
export const config = withDefaults({
  ...{ policy: "uniform", options: {}, shadows: [], window: { ms: 1000 }, encoder: { dimension: 16, version: ENCODER_VERSION } },
});

const configured = (content: unknown): object => ({ ...config, ...(content as object) });
const stamped = { digest: "d", counts: {}, time: 0 };
const CONTENTS: Readonly<Partial<Record<string, (content: Fields) => object>>> = {
  configuration: configured,
  relearnt: (content) => ({ startedAt: 0, ...stamped, ...content, config: configured(content.config) }),
  snapshot: (content) => ({ ...stamped, ...content }),
  merged: (content) => ({ digest: "d", time: 0, ...content }),
  rollback: (content) => ({ counts: {}, time: 0, ...content }),
};

const LINES: Readonly<Record<string, Fields>> = {
  model: { model: "shop", generation: 1, horizon: 0, modelVersion: 1, config, after: 0, exportedAt: 9, digest: null },
  impression: {
    ...{ state: "live", arm: "policy", action: "hat", round: null, version: 1, reward: null, context: null, decision: null },
    ...{ converted: false, shownAt: 5, features: [], hashes: [] },
  },
  conversion: { goal: "conversion", event: "e", reward: 1, at: 5, status: "applied" },
};

/** A line with all of its fields. Those that are given as undefined are missing. */
export function whole(line: object): Fields {
  const { type, mark, content } = line as { type: string; mark?: string; content?: unknown };
  const contentOf = CONTENTS[mark ?? ""];
  const isFilled = contentOf && content !== null && typeof content === "object" && !Array.isArray(content);
  return { ...LINES[type], ...line, ...(isFilled && { content: contentOf(content as Fields) }) };
}

/** Whole lines. A head that does not state its number of events gets it. */
function counted(lines: readonly object[]): Fields[] {
  const all = lines.map(whole);
  return all.map((line, i) => {
    if (line.type !== "model" || "lines" in line) return line;
    const next = all.findIndex((other, at) => at > i && other.type === "model");
    return { ...line, lines: (next < 0 ? all.length : next) - i - 1 };
  });
}

/** A log as texts without receipts. Texts stay as they are. */
export function textsOf(lines: readonly (object | string)[]): string[] {
  const parsed = lines.map((line) => (typeof line === "string" ? { type: "text" } : line));
  return counted(parsed).map((line, i) => (typeof lines[i] === "string" ? lines[i] : JSON.stringify(line)));
}

/** A whole log as texts with receipts. */
export function sealed(lines: readonly object[]): string[] {
  let last = "";
  return counted(lines).map((line) => {
    const { text, receipt } = receipted(line, last);
    last = receipt;
    return text;
  });
}
