// The verdicts of an attack. Each returns null if the worker held, or says what is wrong.

export type Verdict = string | null;

/** An answer of the worker. */
export interface Answer {
  /** 0 if no answer came. */
  readonly status: number;
  readonly type: string;
  readonly text: string;
  readonly headers?: Headers;
}

const MOST_SHOWN = 160;

/** An answer in a line. */
export function shown({ status, type, text }: Answer): string {
  const line = text.replaceAll(/\s+/g, " ");
  return [status, type, line.length > MOST_SHOWN ? `${line.slice(0, MOST_SHOWN)}…` : line].filter((part) => part !== "").join(" ");
}

/** The worker must refuse with problem+json, with one of these statuses. */
export function refusal(answer: Answer, ...statuses: readonly number[]): Verdict {
  if (!statuses.includes(answer.status)) return `expected ${statuses.join(" or ")}, got ${shown(answer)}`;
  return problem(answer);
}

/** The worker must answer with this status. */
export function success(answer: Answer, status: number): Verdict {
  return answer.status === status ? null : `expected ${status}, got ${shown(answer)}`;
}

/** The worker may take the request or refuse it, but it must not fail. */
export function soundness(answer: Answer): Verdict {
  if (answer.status >= 200 && answer.status < 300) return contentOf(answer) === undefined ? `expected JSON, got ${shown(answer)}` : null;
  if (answer.status >= 400 && answer.status < 500) return problem(answer);
  return `expected a 2xx or a refusal, got ${shown(answer)}`;
}

/** Each refusal must be the same, so that it tells nothing about the key. */
export function sameness(answer: Answer, first: Answer): Verdict {
  return answer.text === first.text ? null : `expected the same refusal as others, got ${shown(answer)} and ${shown(first)}`;
}

/** A state must not have changed. */
export function unchanged(before: unknown, after: unknown): Verdict {
  const [one, other] = [JSON.stringify(before), JSON.stringify(after)];
  return one === other ? null : `expected an unchanged state, got ${other} after ${one}`;
}

/** One answer to an event must take it, and the others must say that it is there. */
export function onceTaken(statuses: readonly string[]): Verdict {
  const taken = statuses.filter((status) => status === "applied").length;
  const rest = statuses.filter((status) => status !== "applied" && status !== "duplicate");
  if (taken === 1 && rest.length === 0) return null;
  return `expected applied once and duplicate else, got applied ${taken} times${rest.length > 0 ? ` and ${rest.join(", ")}` : ""}`;
}

/** A cost in ms of CPU time must be within its bound. */
export function cheapness(ms: number, most: number): Verdict {
  return ms <= most ? null : `expected at most ${most} ms of CPU time, got ${ms.toFixed(0)} ms`;
}

type Items = readonly { readonly status: string }[];

/** The statuses of the conversions of a webhook, or of the goals of a page's report. Empty if the answer has none. */
export function statusesIn(answer: Answer): string[] {
  const content = contentOf(answer) as { conversions?: Items; reached?: Items } | null | undefined;
  return (content?.conversions ?? content?.reached ?? []).map(({ status }) => status);
}

/** The items of an accepted webhook or report must have these statuses. */
export function statusVerdict(answer: Answer, ...expected: readonly string[]): Verdict {
  const statuses = answer.status === 202 ? statusesIn(answer) : [];
  return statuses.join() === expected.join() ? null : `expected 202 ${expected.join()}, got ${shown(answer)}`;
}

/** Counts the acknowledged events that a log lacks, and those that it holds more than once. */
export function accountOf(acknowledged: readonly string[], logged: readonly string[]) {
  const times = new Map<string, number>();
  for (const name of logged) times.set(name, (times.get(name) ?? 0) + 1);
  return {
    acknowledged: acknowledged.length,
    lost: acknowledged.filter((name) => !times.has(name)).length,
    doubled: Array.from(times.values()).filter((n) => n > 1).length,
  };
}

function problem(answer: Answer): Verdict {
  if (!answer.type.startsWith("application/problem+json")) return `expected problem+json, got ${shown(answer)}`;
  const { status, title, detail } = (contentOf(answer) ?? {}) as { status?: unknown; title?: unknown; detail?: unknown };
  const whole = status === answer.status && typeof title === "string" && typeof detail === "string" && detail !== "";
  return whole ? null : `expected a problem with status, title and detail, got ${shown(answer)}`;
}

/** Undefined if the answer states JSON and has none. Null for another type. */
function contentOf({ status, type, text }: Answer): unknown {
  if (status === 204 || !/^application\/(problem\+)?json/.test(type)) return null;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
