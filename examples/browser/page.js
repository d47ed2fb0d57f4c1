// Recommends articles in the page, and learns from the ones that the visitor opens.
import { delayLinTs, encoder, Recommender } from "afterclick";

const articles = [
  { id: "A week on the coast", topic: "travel" },
  { id: "Night trains are back", topic: "travel" },
  { id: "Bread without kneading", topic: "food" },
  { id: "What to do with quinces", topic: "food" },
  { id: "The sound of ice", topic: "science" },
  { id: "How moths find home", topic: "science" },
];
const { encode } = encoder({ dimension: 32 });
const candidates = articles.map(({ id, topic }) => ({ id, features: encode({ action: { id, topic } }) }));

const recommender = await Recommender.create({
  policy: delayLinTs({ dimension: 32 }),
  window: { ms: 86_400_000 },
  seed: crypto.getRandomValues(new Uint32Array(1))[0],
});

const list = document.getElementById("list");
const status = document.getElementById("status");

function say() {
  const { pending, converted } = recommender.counts();
  status.textContent = `${converted} opened, ${pending} shown and not opened yet`;
}

function show() {
  const { ranking } = recommender.recommend({ candidates, limit: 3, now: Date.now() });
  list.replaceChildren(
    ...ranking.map(({ id, impressionId }) => {
      const item = document.createElement("li");
      const button = document.createElement("button");
      button.textContent = id;
      button.addEventListener("click", () => {
        // The same event id twice counts once.
        recommender.convert({ impressionId, reward: 1, at: Date.now(), eventId: "opened" });
        say();
      });
      item.append(button);
      return item;
    }),
  );
  say();
}

document.getElementById("next").addEventListener("click", show);
show();
