/**
 * Calls back at each click that follows a link or presses a control, with the clicked element and all around it, also those of open shadow
 * roots. The middle button does nothing but open links, and the right button does neither. Returns a function that stops listening.
 */
export function onClick(target: EventTarget, clicked: (path: readonly Partial<Element>[]) => void): () => void {
  const listening = new AbortController();
  const listen = (event: Event): void => {
    // The window and the document are no elements.
    const path = event.composedPath() as Partial<Element>[];
    const { button } = event as MouseEvent;
    if (!button || (button === 1 && path.some((node) => node.matches?.(":any-link")))) clicked(path);
  };
  // A listener of the page may stop the event, so it is heard on its way down.
  for (const type of ["click", "auxclick"]) target.addEventListener(type, listen, { capture: true, signal: listening.signal });
  return () => listening.abort();
}
