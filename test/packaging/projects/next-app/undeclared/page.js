import { recommendations } from "afterclick/react/server";

// Nothing here says that the page is one visitor's: asking does.
export default async function Page() {
  const { actions } = await recommendations({
    url: process.env.AFTERCLICK_URL ?? "http://127.0.0.1:9",
    key: "sk",
    model: "shop",
    consent: true,
    limit: 3,
    timeoutMs: 60_000,
  });
  return <p>{actions.map(({ impressionId }) => impressionId).join()}</p>;
}
