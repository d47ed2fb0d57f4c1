// A shop's page that a server renders, with three products in the order that a worker recommends. docs/hour.md makes the model.
//
//   npm install "$TARBALL" next react react-dom
//   set -a; . ./.dev.vars; set +a; npx next dev
import { recommendations } from "afterclick/react/server";
import { cookies, headers } from "next/headers";
import { Cards } from "./cards.tsx";

const { AFTERCLICK_URL = "http://localhost:8787", AFTERCLICK_SECRET_KEY = "", SHOP_URL = "http://localhost:3000" } = process.env;

export default async function Page() {
  const consent = (await cookies()).get("consent")?.value === "yes";
  const initial = await recommendations({
    url: AFTERCLICK_URL,
    key: AFTERCLICK_SECRET_KEY,
    model: "hour",
    consent,
    userAgent: (await headers()).get("user-agent") ?? undefined, // crawlers teach nothing
    limit: 3,
  });
  return (
    <>
      <h1>Recommended</h1>
      <Cards initial={initial} shop={SHOP_URL} />
      <form action={`/consent?given=${consent ? "no" : "yes"}`} method="post">
        <p>May your clicks and purchases improve what we recommend?</p>
        <button type="submit">{consent ? "Stop that" : "Yes"}</button>
      </form>
    </>
  );
}
