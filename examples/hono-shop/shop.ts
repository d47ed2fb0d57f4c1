// A shop with a database. It recommends, sells, and reports each order to its recommender. One SQLite file holds all state.
//
//   npm install "$TARBALL" hono @hono/node-server && node shop.ts
//
// PORT (default 3000) and DATABASE (default shop.db) are read from the environment.
import { DatabaseSync } from "node:sqlite";
import { serve } from "@hono/node-server";
import { delayLinTs, encoder, Recommender } from "afterclick";
import { Hono } from "hono";
import { html } from "hono/html";

const { PORT = "3000", DATABASE = "shop.db" } = process.env;
const DAY_MS = 86_400_000;
const SHOWN = 2;

const database = new DatabaseSync(DATABASE);
database.exec(`
  create table if not exists products (id text primary key, brand text not null);
  create table if not exists shown (impression text primary key, product text not null, country text not null, at integer not null);
  create table if not exists orders (id integer primary key, impression text not null, product text not null, at integer not null);
  create table if not exists state (id integer primary key check (id = 1), snapshot blob not null);
  insert or ignore into products values ('boots', 'Acme'), ('hat', 'Umbra'), ('scarf', 'Lana');
`);
const products = database.prepare("select id, brand from products order by id").all() as { id: string; brand: string }[];

const { encode } = encoder({ dimension: 32, interactions: "all" });
const kept = database.prepare("select snapshot from state").get() as { snapshot: Uint8Array } | undefined;
const recommender = kept
  ? await Recommender.restore(kept.snapshot, { policies: [delayLinTs] })
  : await Recommender.create({ policy: delayLinTs({ dimension: 32 }), window: { ms: 30 * DAY_MS } });

/** Commits the changes of `work` together with the recommender's state, so that both agree after a crash. */
function committed<Result>(work: (at: number) => Result): Result {
  database.exec("begin immediate");
  try {
    const result = work(Date.now());
    database.prepare("insert or replace into state values (1, ?)").run(recommender.snapshot());
    database.exec("commit");
    return result;
  } catch (error) {
    database.exec("rollback");
    throw error;
  }
}

function recommend(country: string) {
  const candidates = products.map(({ id, brand }) => ({ id, features: encode({ context: { country }, action: { id, brand } }) }));
  return committed((at) => {
    const { ranking } = recommender.recommend({ candidates, limit: SHOWN, now: at });
    const insert = database.prepare("insert into shown values (?, ?, ?, ?)");
    for (const { impressionId, index } of ranking) insert.run(impressionId, products[index].id, country, at);
    return ranking.map(({ impressionId, index }) => ({ impressionId, ...products[index] }));
  });
}

/** Sells what an impression showed, minutes or weeks later. Undefined for an impression that this shop has not shown. */
function sell(impression: string) {
  return committed((at) => {
    const shown = database.prepare("select product from shown where impression = ?").get(impression) as { product: string } | undefined;
    if (!shown) return undefined;
    const { lastInsertRowid: order } = database.prepare("insert into orders values (null, ?, ?, ?)").run(impression, shown.product, at);
    const { status } = recommender.convert({ impressionId: impression, reward: 1, at, eventId: `order-${order}` });
    return { order: Number(order), product: shown.product, status };
  });
}

/** Sales of each product by country. */
const report = () =>
  database
    .prepare(
      `select country, shown.product, count(*) as shown, count(distinct orders.impression) as sold
       from shown left join orders on orders.impression = shown.impression group by country, shown.product order by country, shown.product`,
    )
    .all();

const shop = new Hono()
  .get("/", (c) => {
    const country = c.req.query("country") ?? "PT";
    const items = recommend(country).map(
      ({ impressionId, id, brand }) => html`
        <li>
          <form method="post" action="/orders">
            <input type="hidden" name="impression" value="${impressionId}">
            ${id} by ${brand} <button>Buy</button>
          </form>
        </li>`,
    );
    return c.html(
      html`<!doctype html><html lang="en"><title>Shop</title><h1>Recommended in ${country}</h1><ul>${items}</ul><a href="/report">Report</a></html>`,
    );
  })
  .post("/orders", async (c) => {
    const { impression } = await c.req.parseBody();
    const sold = typeof impression === "string" ? sell(impression) : undefined;
    return sold ? c.json(sold, 201) : c.json({ error: "impression: expected one that this shop has shown" }, 404);
  })
  .get("/recommendations", (c) => c.json(recommend(c.req.query("country") ?? "PT")))
  .get("/report", (c) => c.json({ sales: report(), impressions: recommender.counts() }));

serve({ fetch: shop.fetch, port: Number(PORT), hostname: "127.0.0.1" }, ({ port }) =>
  console.log(`The shop is at http://127.0.0.1:${port}`),
);
