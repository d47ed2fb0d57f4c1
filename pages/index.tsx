// The script of the worker's page: the demo shop, or the dashboard behind the secret key.

import { render, useLayoutEffect, useState } from "hono/jsx/dom";
import { SHOP_MODEL } from "../src/simulation/assortment.ts";
import { Dashboard } from "./dashboard/dashboard.tsx";
import { SignIn, WRONG_KEY } from "./dashboard/sign-in.tsx";
import { demoSource, keyedSource } from "./dashboard/source.ts";
import { Regret } from "./shop/regret.tsx";
import { Session } from "./shop/session.ts";
import { Shop } from "./shop/shop.tsx";
import { type Route, routeOf } from "./ui/route.ts";
import { readTab, writeTab } from "./ui/tab-storage.ts";

/** The session storage entry that holds the secret key until the tab is closed. */
const KEY = "afterclick.secret-key";

const main = document.querySelector("main") as HTMLElement;
const { publishableKey } = main.dataset;

function useRoute(home: Route["view"]): Route {
  const [hash, setHash] = useState(location.hash);
  useLayoutEffect(() => {
    const changed = () => setHash(location.hash);
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  const route = routeOf(hash, home);
  useLayoutEffect(() => {
    for (const link of document.querySelectorAll("header nav a")) {
      if (link.getAttribute("href") === `/#${route.view}`) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
  }, [route.view]);
  return route;
}

/** The demonstration: the shop, and the dashboard of its model and of the developer's own. */
function Demonstration({ publishableKey }: { publishableKey: string }) {
  const route = useRoute("shop");
  const [now, setNow] = useState(Date.now());
  const [session] = useState(() => new Session(publishableKey, () => setNow(Date.now())));
  useLayoutEffect(() => session.start(), []);
  if (route.view === "shop") return <Shop session={session} now={now} />;
  const model = route.model ?? SHOP_MODEL;
  return (
    <Dashboard source={demoSource} route={{ ...route, model }} simulated={model === SHOP_MODEL}>
      {model === SHOP_MODEL && <Regret session={session} />}
    </Dashboard>
  );
}

/** The dashboard of a deployed worker. It asks for the secret key first. */
function Console() {
  const route = useRoute("dashboard");
  const [key, setKey] = useState(readTab(KEY));
  const [kept, setKept] = useState(true);
  const [problem, setProblem] = useState("");
  const enter = (entered: string) => {
    setKept(writeTab(KEY, entered));
    setKey(entered);
  };
  const leave = (reason: string) => {
    writeTab(KEY, "");
    setProblem(reason);
    setKey("");
  };
  if (key === "") return <SignIn enter={enter} problem={problem} />;
  return (
    <>
      <p class="bar key">
        <span class="quiet">
          {kept
            ? "This tab keeps the key until you close it."
            : "This browser refuses storage, so the page asks for the key again after a reload."}
        </span>
        <button type="button" onClick={() => leave("")}>
          Forget the key
        </button>
      </p>
      <Dashboard key={key} source={keyedSource(key)} route={route} refused={() => leave(WRONG_KEY)} />
    </>
  );
}

render(publishableKey === undefined ? <Console /> : <Demonstration publishableKey={publishableKey} />, main);
