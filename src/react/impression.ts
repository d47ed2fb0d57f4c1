// Reports which items were seen and clicked. An item without an impression id is rendered alike, and reports nothing.

import {
  type ComponentPropsWithRef,
  createElement,
  type ElementType,
  forwardRef,
  type ReactElement,
  type Ref,
  useEffect,
  useImperativeHandle,
  useRef,
} from "react";
import { onClick } from "../beacon/click.ts";
import { useShared } from "./provider.ts";

/** Links and controls: a click on anything else intends nothing. */
const INTENDED = "a, area, button, input, select, textarea, summary, label, [role=button], [role=link], [role=menuitem], [role=tab]";

interface Own {
  /** An item of `useRecommendations`. One without an impression id reports nothing. */
  readonly of: { readonly impressionId?: string };
  /** Public goal of a click on a link or a control in the element. Default: `click`. `null` reports no clicks. */
  readonly goal?: string | null;
}

/** Props of `<Impression>`: its own, and those of the element that it renders. */
export type ImpressionProps<As extends ElementType = "div"> = Own & {
  /** The element, or a component that forwards its ref to one. Default: `div`. */
  readonly as?: As;
} & Omit<ComponentPropsWithRef<As>, keyof Own | "as">;

/**
 * Renders an element of a recommended item. Reports the item once half of the element was visible for a second, and the first click on a
 * link or a control in it.
 */
export const Impression = /* @__PURE__ */ forwardRef(function Impression(
  { of, as: element = "div", goal = "click", ...rest }: Own & { readonly as?: ElementType },
  ref: Ref<unknown>,
) {
  const { beacon } = useShared("<Impression>");
  const own = useRef<Element>(null);
  const impressionId = of?.impressionId;
  // biome-ignore lint/correctness/useExhaustiveDependencies: another element has another node.
  useImperativeHandle(ref, () => own.current, [element, impressionId]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: likewise.
  useEffect(() => {
    const node = own.current;
    if (!node?.nodeType || !impressionId || !beacon) return;
    const unwatch = beacon.seen(node, impressionId);
    const unlisten = onClick(node, (path) => {
      const inside = path.slice(0, path.indexOf(node) + 1);
      if (goal !== null && inside.some((each) => each.matches?.(INTENDED))) beacon.reached(impressionId, goal);
    });
    return () => {
      unwatch();
      unlisten();
    };
  }, [beacon, element, impressionId, goal]);
  // An impression gets an element of its own: an element that moved to another place would count as a layout shift.
  return createElement(element, { ...rest, key: impressionId, ref: own });
}) as <As extends ElementType = "div">(props: ImpressionProps<As>) => ReactElement | null;
