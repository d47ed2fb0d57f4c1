// Remembers the lists that a tab has asked for. React mounts components again, and a list must not be asked for again.

import type { Answer } from "./request.ts";

/** A list stays that of its page view for this long, in ms. */
const VIEW_MS = 600_000;

interface View {
  readonly listeners: Set<(answer: Answer) => void>;
  readonly request: AbortController;
  readonly askedAt: number;
  answer?: Answer;
}

/** The lists of a tab's page views. Each is asked for once, however many components show it, and however often they are mounted. */
export interface PageViews {
  /**
   * Opens a page view, and calls back with its answer: now if it is known, and when it comes. The returned function closes it. Without a
   * component that shows it, a question that is not answered yet is aborted.
   */
  open(name: string, ask: (request: AbortController) => Promise<Answer>, answered: (answer?: Answer) => void): () => void;
}

export function pageViews(): PageViews {
  const views = new Map<string, View>();

  /** Whether a view may be opened again without asking. */
  const isKept = ({ answer, askedAt, listeners }: View): boolean => {
    return listeners.size > 0 || (answer !== undefined && !answer.error && Date.now() - askedAt < VIEW_MS);
  };
  /** Strict mode and a router mount a component again at once, so this follows a moment later. */
  const sweep = (): void => {
    for (const [name, view] of views) {
      if (isKept(view)) continue;
      view.request.abort(new Error("no component shows the list"));
      views.delete(name);
    }
  };
  const started = (name: string, ask: (request: AbortController) => Promise<Answer>): View => {
    const view: View = { listeners: new Set(), request: new AbortController(), askedAt: Date.now() };
    views.set(name, view);
    ask(view.request).then((answer) => {
      view.answer = answer;
      for (const listener of view.listeners) listener(answer);
    });
    return view;
  };

  return {
    open(name, ask, answered) {
      const last = views.get(name);
      const view = last && (!last.answer || isKept(last)) ? last : started(name, ask);
      // A function of its own: a listener may listen to two components.
      const listener = (answer: Answer): void => answered(answer);
      view.listeners.add(listener);
      answered(view.answer);
      return () => {
        view.listeners.delete(listener);
        setTimeout(sweep, 0);
      };
    },
  };
}
