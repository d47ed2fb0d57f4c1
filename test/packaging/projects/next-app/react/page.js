import { recommendations } from "afterclick/react/server";
import Link from "next/link";
import { List } from "./list.js";

export default async function Page() {
  const initial = await recommendations({
    url: process.env.AFTERCLICK_URL,
    key: "sk",
    model: "shop",
    consent: true,
    limit: 3,
    timeoutMs: 60_000,
  });
  return (
    <>
      <List initial={initial} />
      <Link href="/react/other" prefetch={false}>
        elsewhere
      </Link>
    </>
  );
}
