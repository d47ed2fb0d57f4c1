import fc from "fast-check";
import { expect, it } from "vitest";
import { allotted, inMajor } from "../../../worker/domain/orders/money.ts";

it.each([
  ["EUR", 1999, 19.99],
  ["JPY", 1999, 1999],
  ["KWD", 1999, 1.999],
  // Stripe sends these two in hundredths, although they have no minor unit.
  ["ISK", 199900, 1999],
  ["UGX", 199900, 1999],
])("an amount in the minor unit of %s: %d is %d", (currency, minor, major) => {
  expect(inMajor(minor, currency)).toBe(major);
});

const weights = fc
  .array(fc.integer({ min: 0, max: 100_000 }), { minLength: 1, maxLength: 8 })
  .filter((all) => all.some((each) => each > 0));

it("allots all units, to nobody more than one beyond the fair share rounded up, and takes none away for a larger total", () => {
  fc.assert(
    fc.property(weights, fc.double({ min: 0, max: 1, noNaN: true }), (all, share) => {
      const whole = all.reduce((sum, each) => sum + each, 0);
      const units = Math.floor(share * whole);
      const [own, more] = [allotted(units, all), allotted(Math.min(units + 1, whole), all)];
      expect(own.reduce((sum, each) => sum + each, 0)).toBe(units);
      for (const [place, each] of own.entries()) {
        expect(each).toBeGreaterThanOrEqual(Math.floor((units * all[place]) / whole - 1e-6));
        expect(each).toBeLessThanOrEqual(all[place]);
        expect(more[place]).toBeGreaterThanOrEqual(each);
      }
      expect(allotted(whole, all)).toEqual(all);
    }),
  );
});
