// A page that learns on the device. Its state stays in the browser across visits.
//
//   npm install "$TARBALL" vite && npx vite
import { delayLinTs } from "afterclick";
import { OwnModel } from "afterclick/local";

const WEEK_MS = 7 * 86_400_000;
const topics = ["sport", "politics", "science", "music", "food", "travel"];
const articles = topics.map((topic) => ({ id: topic, features: { topic } }));

const [status, list, next, forget] = ["[role=status]", "ol", "#next", "#forget"].map((selector) => {
  return document.querySelector(selector) as HTMLElement;
});

const model = await OwnModel.open({
  name: "reading",
  policy: delayLinTs({ dimension: 32 }),
  encoder: { dimension: 32, interactions: "all" },
  window: { ms: WEEK_MS },
  report: (problem) => console.warn(problem.message),
});

async function show(): Promise<void> {
  const context = { weekend: [0, 6].includes(new Date().getDay()) };
  const { actions } = await model.recommend({ context, actions: articles, limit: 3 });
  const items = actions.map(({ impressionId, id }) => {
    const item = document.createElement("li");
    const button = item.appendChild(document.createElement("button"));
    button.textContent = id;
    button.addEventListener("click", async () => {
      await model.convert({ impressionId });
      status.textContent = `You opened ${id}`;
    });
    return item;
  });
  list.replaceChildren(...items);
  status.textContent = "Open what you like";
}

next.addEventListener("click", show);
forget.addEventListener("click", async () => {
  await model.forget();
  await show();
  status.textContent = "Forgotten";
});
await show();
