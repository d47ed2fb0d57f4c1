import type { Beacon } from "./beacon.ts";
import { onClick } from "./click.ts";

const ID = "data-afterclick";
const GOAL = "data-afterclick-goal";

/**
 * Reports for all elements of a page, now and later, and for those of its open shadow roots: `data-afterclick="IMPRESSION_ID"` reports that
 * the element was seen, and a click on an element with `data-afterclick-goal="GOAL"`, in it or the same, reports that goal. Elements of a
 * closed shadow root need a call with this root.
 */
export function watchAttributes(beacon: Pick<Beacon, "seen" | "reached">, root: Document | DocumentFragment | Element = document): void {
  const watch = (node: Node): void => {
    if (!(node instanceof Element)) return;
    const impressionId = node.getAttribute(ID);
    if (impressionId) beacon.seen(node, impressionId);
    const open = (): void => enter(node.shadowRoot);
    open();
    // An element may get its shadow root when its class is defined. No change of the page tells that.
    if (node.matches(":not(:defined)")) customElements.whenDefined(node.localName).then(open, open);
  };
  const watchAll = (tree: Partial<ParentNode> & Node): void => {
    for (const node of [tree, ...(tree.querySelectorAll?.("*") ?? [])]) watch(node);
  };
  const observer = new MutationObserver((changes) => {
    for (const { target, addedNodes, type } of changes) {
      if (type === "attributes") watch(target);
      for (const node of addedNodes) watchAll(node);
    }
  });
  const enter = (tree: Node | null): void => {
    if (!tree) return;
    observer.observe(tree, { childList: true, subtree: true, attributeFilter: [ID] });
    watchAll(tree);
  };
  onClick(root, (path) => {
    let goal: string | null | undefined;
    for (const node of path) {
      goal ??= node.getAttribute?.(GOAL);
      if (goal && node.hasAttribute?.(ID)) return beacon.reached(node.getAttribute?.(ID) as string, goal);
    }
  });
  enter(root);
}
