import type { Stream } from "../../src/simulation/stream.ts";

/** The candidates of a visitor, and what they bring. */
interface Visit {
  /** Candidates: actions x dimension, row-major. */
  readonly points: Float64Array;
  /** Chance of a click on each action, and of a purchase after a click. */
  readonly click: Float64Array;
  readonly buy: Float64Array;
  /** Mean amount of an order of each action. Absent: every order is worth 1. */
  readonly price?: Float64Array;
}

/** A shop whose visitors click, and buy after a click. */
export interface SignalShop {
  readonly dimension: number;
  visit(random: Stream): Visit;
}

/** The actions of the shops without context. */
const ACTIONS = 20;
const CLICK = 0.1;
const BUY = 0.2;
const PRICE = 60;

const identity = Float64Array.from({ length: ACTIONS * ACTIONS }, (_, i) => Number(i % (ACTIONS + 1) === 0));
const drawn = (value: () => number): Float64Array => Float64Array.from({ length: ACTIONS }, () => Math.min(value(), 0.9));

interface ArmsSpec {
  /** Standard deviation of the logarithm of the chance of a click. */
  readonly clickSpread: number;
  /** Standard deviation of the logarithm of purchases per click. */
  readonly buySpread: number;
  /** How much the logarithm of purchases per click falls with that of clicks. */
  readonly bait?: number;
}

/** Twenty actions without features. Clicks are about 0.1, purchases per click about 0.2. */
export function arms({ clickSpread, buySpread, bait = 0 }: ArmsSpec) {
  return (random: Stream): SignalShop => {
    const appeal = Array.from({ length: ACTIONS }, () => clickSpread * random.normal());
    const click = Float64Array.from(appeal, (each) => Math.min(CLICK * Math.exp(each), 0.9));
    const buy = Float64Array.from(appeal, (each) => Math.min(BUY * Math.exp(buySpread * random.normal() - bait * each), 0.9));
    return { dimension: ACTIONS, visit: () => ({ points: identity, click, buy }) };
  };
}

/** Twenty actions without features, whose conversions are about as frequent and whose prices differ. */
export function priced(random: Stream): SignalShop {
  const click = drawn(() => 1).fill(1);
  const buy = drawn(() => 0.05 * Math.exp(0.3 * random.normal()));
  const price = Float64Array.from({ length: ACTIONS }, () => PRICE * Math.exp(0.5 * random.normal()));
  return { dimension: ACTIONS, visit: () => ({ points: identity, click, buy, price }) };
}

const FEATURES = 5;

/**
 * Twenty candidates with five features each, drawn anew for each visitor. Clicks and purchases per click are linear in them, so purchases
 * are not. `bait`: how much of what brings clicks keeps from buying.
 */
export function contextual(bait: number) {
  return (random: Stream): SignalShop => {
    const forClick = Float64Array.from({ length: FEATURES }, () => random());
    const forBuy = forClick.map((each) => (1 - bait) * random() + bait * (1 - each));
    return {
      dimension: FEATURES,
      visit(random) {
        const points = new Float64Array(ACTIONS * FEATURES);
        const [click, buy] = [new Float64Array(ACTIONS), new Float64Array(ACTIONS)];
        for (let a = 0; a < ACTIONS; a++) {
          const shares = Array.from({ length: FEATURES }, () => -Math.log(1 - random()));
          const sum = shares.reduce((total, each) => total + each, 0);
          shares.forEach((each, i) => {
            points[a * FEATURES + i] = each / sum;
            click[a] += (2 * CLICK * forClick[i] * each) / sum;
            buy[a] += (2 * BUY * forBuy[i] * each) / sum;
          });
        }
        return { points, click, buy };
      },
    };
  };
}
