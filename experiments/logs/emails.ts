// Hillstrom's e-mails (MineThatData, 2008): each of 64,000 customers got one of two e-mails or none, at random.
import type { NamedFeatures } from "afterclick";
import { LogError } from "../../cli/replay/open-bandit.ts";
import { shuffled, stream } from "../../src/simulation/stream.ts";
import { DAY_MS, type Shop, type Timing } from "../shop/shop.ts";
import { delaysOf, geometricMs } from "../shop/timing.ts";
import { numberOf, readTable } from "./table-file.ts";

/** The e-mails, as the file names them. */
const EMAILS = ["No E-Mail", "Mens E-Mail", "Womens E-Mail"];
const NUMBERS = ["recency", "history"];
const KINDS = ["mens", "womens", "zip_code", "newbie", "channel"];

/** The outcomes of the two weeks after the e-mail. */
export type EmailOutcome = "visit" | "conversion";

export interface Customer {
  readonly context: NamedFeatures;
  /** The place of the e-mail in `EMAILS`. */
  readonly email: number;
  readonly outcomes: Readonly<Record<EmailOutcome, boolean>>;
}

/** @throws {LogError} naming the file and what is wrong with it. */
export async function readEmails(file: string): Promise<Customer[]> {
  const columns = [...NUMBERS, ...KINDS, "segment", "visit", "conversion"];
  const rows = await readTable(file, { delimiter: ",", columns });
  return rows.map((cells) => {
    const of = (name: string): string => cells[columns.indexOf(name)];
    const email = EMAILS.indexOf(of("segment"));
    if (email < 0) throw new LogError(`${file}: expected segment to be one of ${EMAILS.join(", ")}, got "${of("segment")}"`);
    const outcome = (name: EmailOutcome): boolean => {
      if (!["0", "1"].includes(of(name))) throw new LogError(`${file}: expected ${name} to be 0 or 1, got "${of(name)}"`);
      return of(name) === "1";
    };
    return {
      context: {
        ...Object.fromEntries(NUMBERS.map((name) => [name, numberOf(of(name), name, file)])),
        ...Object.fromEntries(KINDS.map((name) => [name, of(name)])),
      },
      email,
      outcomes: { visit: outcome("visit"), conversion: outcome("conversion") },
    };
  });
}

/** The file has no times, so the delays are made up. */
const timing: Timing = { laws: [geometricMs(2 * DAY_MS)], windowMs: 7 * DAY_MS };

/**
 * A replay of the log, shuffled (Li, Chu, Langford and Wang 2011): a customer counts if an algorithm chooses the e-mail that the customer got.
 * The e-mails were drawn with equal chances, so the counted customers are as those of a shop that lets the algorithm choose.
 * @param horizon number of counted customers. The log holds about three times as many.
 */
export function emailShop(
  customers: readonly Customer[],
  outcome: EmailOutcome,
  horizon: number,
  names: readonly (string | number)[],
): Shop {
  const order = shuffled(customers, stream(...names, "order"));
  // A customer has the same delay whatever an algorithm has counted before.
  const delays = stream(...names, "delay");
  const waits = order.map(() => delaysOf(timing, delays));
  const range = (name: string) => {
    const values = customers.map(({ context }) => context[name] as number);
    return { min: values.reduce((a, b) => Math.min(a, b)), max: values.reduce((a, b) => Math.max(a, b)) };
  };
  let next = 0;
  return {
    horizon,
    stepMs: (30 * DAY_MS) / horizon,
    ...timing,
    products: EMAILS.map((id) => ({ id })),
    numeric: Object.fromEntries(NUMBERS.map((name) => [name, range(name)])),
    visit() {
      const customer = order[next];
      if (!customer) throw new LogError(`expected a log of about ${3 * horizon} customers or more, got ${customers.length}`);
      const rate = Number(customer.outcomes[outcome]);
      return { context: customer.context, logged: customer.email, rates: EMAILS.map(() => rate), luck: 0, delaysMs: waits[next++] };
    },
  };
}
