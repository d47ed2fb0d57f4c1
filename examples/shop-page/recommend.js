// Asks the worker what to show, and fills the page's list. Titles, addresses and prices come from the shop's own catalogue.
const { worker, key, model, consent, products } = JSON.parse(document.getElementById("shop").textContent);
const list = document.getElementById("recommended");
const ENOUGH_MS = 1000;

async function recommended() {
  const response = await fetch(`${worker}/v1/models/${model}/recommendations`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    // Without consent the worker stores nothing of the list, and learns nothing from this visitor.
    body: JSON.stringify({ context: { device: innerWidth < 600 ? "phone" : "desktop" }, limit: 2, learn: consent }),
    signal: AbortSignal.timeout(ENOUGH_MS),
  });
  if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);
  return (await response.json()).actions;
}

/** A link to a product. Its address carries the impression id to the product's page. */
function linkTo({ title, address, price }, impressionId) {
  const item = document.createElement("li");
  const link = document.createElement("a");
  link.href = `${address}?impression=${encodeURIComponent(impressionId)}`;
  link.textContent = `${title}, ${price.toFixed(2)} EUR`;
  item.append(link);
  return item;
}

try {
  const actions = await recommended();
  // The catalogue of the worker may be older than the shop's.
  const known = actions.filter(({ id }) => Object.hasOwn(products, id));
  if (known.length > 0) list.replaceChildren(...known.map(({ id, impressionId }) => linkTo(products[id], impressionId)));
} catch (error) {
  // The list that the shop has rendered stays.
  console.warn("no recommendations:", error.message);
}
list.dataset.ready = "true";
