// Asks a worker for a list. Pages and servers share this file, so it imports nothing.

/** A question for a list. The fields are those of `POST /v1/models/:model/recommendations`. */
export interface Question {
  /** Named features of the visitor and the page. */
  readonly context?: Readonly<Record<string, Feature>>;
  /** Most items of the list, from 1 to 100. */
  readonly limit?: number;
  /** Only these actions of the worker's catalogue are candidates. Default: all. */
  readonly actions?: readonly { readonly id: string }[];
  readonly exclude?: readonly string[];
  readonly filter?: Filter;
  readonly pin?: readonly { readonly action: string; readonly place: number }[];
  readonly maxPer?: { readonly attribute: string; readonly count: number };
  readonly boost?: readonly { readonly filter: Filter; readonly by: number }[];
}

type Filter = Readonly<Record<string, Feature | { readonly min?: number; readonly max?: number }>>;
type Feature = string | number | boolean | readonly string[];

/** A worker, and a key for it. */
export interface Worker {
  /** Address of the worker, such as https://afterclick.example.workers.dev. */
  readonly url: string;
  readonly key: string;
  readonly model: string;
}

/** One place of a list. */
export interface Recommended {
  readonly id: string;
  readonly impressionId: string;
}

/** The outcome of a question, as plain data. */
export interface Answer {
  /** Best first. Empty after an error. */
  readonly actions: readonly Recommended[];
  /** Why there is no list. */
  readonly error?: string;
}

/** How a list is asked for, besides the question. */
export interface Terms {
  /** Whether the visitor has agreed. Without consent the worker learns nothing from the list. */
  readonly consent: boolean;
  /** The visitor's own user agent, if a server asks. */
  readonly userAgent?: string | undefined;
  /** The shop's own list is shown after this long, in ms. Default: 1,000. */
  readonly timeoutMs?: number;
}

/** Refuses an argument that is no text, or an empty one. @throws {TypeError} naming it. */
export function checkTexts(place: string, values: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(values)) {
    if (typeof value !== "string" || value === "") throw new TypeError(`${place}: ${name}: expected a text, got ${JSON.stringify(value)}`);
  }
}

/** Asks once. A failure is an answer with an error, unless a framework ends the rendering by it. */
export async function ask(
  { url, key, model }: Worker,
  question: Question,
  { consent, userAgent, timeoutMs = 1000 }: Terms,
  request = new AbortController(),
): Promise<Answer> {
  const timer = setTimeout(() => request.abort(new Error(`the worker did not answer within ${timeoutMs} ms`)), timeoutMs);
  try {
    const init: RequestInit & { next: object } = {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      // An impression counts once the beacon has reported that it was seen.
      body: JSON.stringify({ ...question, userAgent, defer: true, learn: consent === true }),
      credentials: "omit",
      signal: request.signal,
      // Next.js would make one list for all visitors while it builds. Others ignore it.
      next: { revalidate: 0 },
    };
    const response = await fetch(`${url.replace(/\/$/, "")}/v1/models/${encodeURIComponent(model)}/recommendations`, init);
    const text = await response.text();
    if (!response.ok) throw new Error(`the worker answered ${response.status}: ${text.slice(0, 200)}`);
    return { actions: listIn(text) };
  } catch (error) {
    // Next.js ends a static rendering so.
    if ((error as { readonly digest?: string }).digest !== undefined) throw error;
    const { message } = request.signal.aborted ? request.signal.reason : (error as Error);
    return { actions: [], error: message };
  } finally {
    clearTimeout(timer);
  }
}

/** @throws {Error} if an answer is no list. */
function listIn(text: string): readonly Recommended[] {
  try {
    const { actions } = JSON.parse(text) as Answer;
    return actions.map(({ id, impressionId }) => {
      if (typeof id !== "string" || typeof impressionId !== "string") throw new TypeError();
      return { id, impressionId };
    });
  } catch {
    throw new Error(`expected a list of recommendations from the worker, got ${text.slice(0, 200)}`);
  }
}
