import * as sdk from "afterclick";
import { useEffect } from "react";
import { decide } from "../../decide.js";

export const loader = () => decide(sdk);

export default function Home({ loaderData }) {
  useEffect(() => {
    decide(sdk).then(
      (decided) => Object.assign(globalThis, { decided }),
      ({ code }) => Object.assign(globalThis, { decided: { code } }),
    );
  }, []);
  return <p>{loaderData.digest}</p>;
}
