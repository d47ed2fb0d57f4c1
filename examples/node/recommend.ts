// Recommends in a process, learns from conversions that come days later, and keeps its state in a file.
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Model } from "afterclick";

const DAY = 86_400_000;
const products = [
  { id: "boots", features: { brand: "Acme" } },
  { id: "hat", features: { brand: "Umbra" } },
  { id: "scarf", features: { brand: "Lana" } },
];
// The visitors' true preferences. The model does not see them.
const favourite: Record<string, string> = { PT: "hat", NO: "boots", IT: "scarf" };

const folder = await mkdtemp(join(tmpdir(), "afterclick-"));
const file = join(folder, "shop.snapshot");
let model = await Model.create({ window: { ms: 7 * DAY }, actions: products, seed: 1 });

let now = Date.UTC(2026, 0, 1);
let right = 0;
const orders: { readonly impressionId: string; readonly at: number }[] = [];
for (let visit = 1; visit <= 900; visit++) {
  now += DAY / 60;
  // Orders arrive three days after the product was shown.
  while (orders.length > 0 && orders[0].at <= now) model.convert(orders.shift()!);

  const country = Object.keys(favourite)[visit % 3];
  const [action] = model.recommend({ context: { country }, now }).actions;
  const liked = action.id === favourite[country];
  if (liked) orders.push({ impressionId: action.impressionId, at: now + 3 * DAY });

  if (visit > 600 && liked) right++;
  if (visit === 600) {
    // Simulates a restart: the restored model makes identical decisions.
    await writeFile(file, model.snapshot());
    model = await Model.restore(await readFile(file));
  }
}
await rm(folder, { recursive: true });
console.log(`${right} of the last 300 visitors were shown their favourite; random choice would give 100.`);
console.log(`${model.recommender.counts().pending} impressions are still pending.`);
