import { Afterclick } from "afterclick/react";

export const dynamic = "force-dynamic";

export default function Layout({ children }) {
  return (
    <Afterclick url={process.env.AFTERCLICK_URL} publishableKey="pk" model="shop" consent={true}>
      {children}
    </Afterclick>
  );
}
