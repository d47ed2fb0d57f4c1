import type { Beacon } from "./beacon.ts";

const ID = "data-afterclick";
const GOAL = "data-afterclick-goal";

/**
 * Reports for all elements of a page, now and later: `data-afterclick="IMPRESSION_ID"` reports that the element was seen, and a click on
 * an element with `data-afterclick-goal="GOAL"`, in it or the same, reports that goal.
 */
export function watchAttributes(beacon: Pick<Beacon, "seen" | "reached">, root: Document | Element = document): void {
  const watch = (element: Element): void => {
    const impressionId = element.getAttribute(ID);
    if (impressionId) beacon.seen(element, impressionId);
  };
  const watchAll = (node: Node): void => {
    if (node instanceof Element) watch(node);
    if (node instanceof Element || node instanceof Document) for (const element of node.querySelectorAll(`[${ID}]`)) watch(element);
  };
  const click = ({ target }: Event): void => {
    const clicked = target instanceof Element ? target.closest(`[${GOAL}]`) : null;
    const impressionId = clicked?.closest(`[${ID}]`)?.getAttribute(ID);
    const goal = clicked?.getAttribute(GOAL);
    if (impressionId && goal) beacon.reached(impressionId, goal);
  };
  // A listener of the page may stop the event, so it is heard on its way down. A middle click opens a tab.
  for (const type of ["click", "auxclick"]) root.addEventListener(type, click, true);
  new MutationObserver((changes) => {
    for (const { target, addedNodes, type } of changes) {
      if (type === "attributes") watch(target as Element);
      for (const node of addedNodes) watchAll(node);
    }
  }).observe(root, { childList: true, subtree: true, attributeFilter: [ID] });
  watchAll(root);
}
