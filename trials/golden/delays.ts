// Golden cases of the delay laws. These belong to the simulation, not to the SDK.
import { type DelayLaw, geometric, poisson } from "../../src/simulation/delay-law.ts";
import { type Case, close, type Json } from "./case.ts";

function lawOf(name: string): DelayLaw {
  const mean = Number(/mean ([\d.]+)/.exec(name)?.[1]);
  if (name.startsWith("geometric")) return geometric(mean);
  if (name.startsWith("poisson")) return poisson(mean);
  throw new Error(`unknown law ${name}`);
}

const RELATIVE = 1e-12;

export function delayCases(file: Json): Case[] {
  const rows: Json[] = [...file.geometric, ...file.poisson_cdf, ...file.poisson_pmf];
  return rows.map((row) => ({
    name: `${row.law} at ${row.m ?? row.k}`,
    async run() {
      const law = lawOf(row.law);
      if (row.k !== undefined) close("pmf", law.pmf(row.k), row.pmf, 0, RELATIVE);
      if (row.rho_m !== undefined) close("P(D <= m)", law.cdf(row.m), row.rho_m, 0, RELATIVE);
      if (row.tau_m !== undefined) close("P(D <= m)", law.cdf(row.m), row.tau_m, 0, RELATIVE);
      if (row.inverse !== undefined) close("1 / P(D <= m)", 1 / law.cdf(row.m), row.inverse, 0, RELATIVE);
    },
  }));
}
