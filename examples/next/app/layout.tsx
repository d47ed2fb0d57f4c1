import { Afterclick } from "afterclick/react";
import { cookies } from "next/headers";
import type { ReactNode } from "react";
import "./shop.css";

const { AFTERCLICK_URL = "http://localhost:8787", AFTERCLICK_PUBLISHABLE_KEY = "" } = process.env;

export const metadata = { title: "A shop with Next.js", icons: "data:," };

export default async function Layout({ children }: { children: ReactNode }) {
  const consent = (await cookies()).get("consent")?.value === "yes";
  return (
    <html lang="en">
      <body>
        <Afterclick url={AFTERCLICK_URL} publishableKey={AFTERCLICK_PUBLISHABLE_KEY} model="hour" consent={consent}>
          <main>{children}</main>
        </Afterclick>
      </body>
    </html>
  );
}
