// Recommends in a process, learns from conversions that come days later, and keeps its state in a file.
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { delayLinTs, encoder, Recommender } from "afterclick";

const DAY = 86_400_000;
const { encode } = encoder({ dimension: 32, interactions: [["country", "brand"]] });
const products = [
  { id: "boots", brand: "Acme" },
  { id: "hat", brand: "Umbra" },
  { id: "scarf", brand: "Lana" },
];
// The visitors' true preferences. The recommender does not see them.
const favourite: Record<string, string> = { PT: "hat", NO: "boots", IT: "scarf" };

const folder = await mkdtemp(join(tmpdir(), "afterclick-"));
const file = join(folder, "shop.snapshot");
let recommender = await Recommender.create({
  policy: delayLinTs({ dimension: 32 }),
  window: { ms: 7 * DAY },
  seed: 1,
});

let now = Date.UTC(2026, 0, 1);
let right = 0;
const orders: { readonly impressionId: string; readonly at: number }[] = [];
for (let visit = 1; visit <= 900; visit++) {
  now += DAY / 60;
  // Orders arrive three days after the product was shown.
  while (orders.length > 0 && orders[0].at <= now) recommender.convert({ ...orders.shift()!, reward: 1 });

  const country = Object.keys(favourite)[visit % 3];
  const candidates = products.map(({ id, ...action }) => ({ id, features: encode({ context: { country }, action }) }));
  const { action } = recommender.recommend({ candidates, now });
  const liked = action.id === favourite[country];
  if (liked) orders.push({ impressionId: action.impressionId, at: now + 3 * DAY });

  if (visit > 600 && liked) right++;
  if (visit === 600) {
    // Simulates a restart: the restored recommender makes identical decisions.
    await writeFile(file, recommender.snapshot());
    recommender = await Recommender.restore(await readFile(file), { policies: [delayLinTs] });
  }
}
await rm(folder, { recursive: true });
console.log(`${right} of the last 300 visitors were shown their favourite; random choice would give 100.`);
console.log(`${recommender.counts().pending} impressions are still pending.`);
