import { featurizer, vectorAt } from "afterclick/research";
import { uuidAt } from "../../worker/domain/ids/uuid.ts";
import { type BlockRow, encodeBlock } from "../../worker/domain/impression/block.ts";

/** Bytes that SQLite adds to a block: its columns, its entry in the index, and the unused end of its last page. */
const BYTES_PER_BLOCK = 600;
const WHEN = Date.UTC(2026, 0, 1);

const actions = Array.from({ length: 200 }, (_, i) => ({
  id: `product-${i}`,
  features: { brand: `brand-${i % 7}`, category: `category-${i % 5}`, price: (i * 37) % 200 },
}));
const numeric = { price: { min: 0, max: 200 }, hour: { min: 0, max: 24 } };

/** Stored bytes of an impression in batches of this size: of blocks made of 200 products, contexts of four values, and lists. */
export function bytesPerImpression(batch: number, list: number, dimension: number): number {
  const { points } = featurizer({ dimension, numeric, interactions: "all" });
  const lists = Math.max(1, Math.round(batch / list));
  const rows = Array.from({ length: lists }, (_, n) => listOf(n, list, points)).flat();
  return (encodeBlock(rows.slice(0, 500)).length + BYTES_PER_BLOCK) / Math.min(500, rows.length);
}

function listOf(n: number, count: number, pointsIn: ReturnType<typeof featurizer>["points"]): BlockRow[] {
  const context = { country: `country-${n % 30}`, device: `device-${n % 3}`, hour: n % 24, returning: n % 2 === 0 };
  const points = pointsIn(context, actions);
  const ids = Array.from({ length: count }, (_, place) => uuidAt(WHEN + n, Uint8Array.of(n >> 8, n, place, 4, 5, 6, 7, 8, 9, 10)));
  return ids.map((id, place) => {
    const index = (7 * n + 31 * place) % actions.length;
    const features = vectorAt(points, index, actions.length);
    const scores = { score: 1 / (n + place + 3), mean: 1 / (n + 7), width: 1 / (place + 11), probability: (place + 1) / 100 };
    const decision = { ...scores, place, candidates: actions.length, ...(place > 0 && { first: ids[0] }) };
    const shared = { name: null, context, arm: "policy" as const, version: 1000, byPage: false, sampling: 0 };
    return { ...shared, id, action: actions[index].id, features, decision };
  });
}
