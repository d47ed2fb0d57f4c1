import { describe, expect, it, vi } from "vitest";
import { asks, happened, NOW, openShop, pass, session, simulated, worker } from "./worker.ts";

openShop();

describe("simulated visitors", () => {
  const uniformMiss = 0.7 - (0.55 + 0.7 + 0.11 + 0.2 + 0.1 + 0.09 + 0.12 + 0.11) / 8;

  it("are of all kinds, buy what they like, and miss what the model does not show first", async () => {
    // The first profile buys everything without a delay.
    vi.spyOn(Math, "random").mockReturnValue(0);
    await simulated(3);
    expect(session.visitorsLeft).toBe(0);
    expect(session.shown).toHaveLength(12);
    // The shelf follows visitors of its kind.
    expect(session.shelf).toEqual(session.shown.slice(9));
    for (const shown of session.shown.slice(3)) expect(shown).toMatchObject({ profile: "mira", status: "bought", reportAt: NOW });
    // Mira likes the mug best.
    const missed = (visits: number) => ({ favourite: true, model: 0, uniform: expect.closeTo(visits * uniformMiss, 12) });
    expect(session.visits).toEqual([1, 2, 3].map(missed));
    vi.mocked(Math.random).mockReturnValue(0.999);
    await simulated(1);
    expect(session.shown.slice(12)).toMatchObject(
      ["mug", "tent", "lamp"].map((product) => ({ product, profile: "sam", status: "pending" })),
    );
    // Sam's rate is 0.7 for the plant and 0.3 for the mug.
    expect(session.visits[3]).toMatchObject({ favourite: false, model: expect.closeTo(0.4, 12) });
  });

  it("buy by their tastes, after a delay of four seconds on average and twenty at most", async () => {
    const random = vi.spyOn(Math, "random");
    // Mira's draws: the mug is below 0.7, with a delay of -ln(1/2) * 4 s. The tent is not below 0.55. The lamp is below 0.11, with the longest delay.
    for (const draw of [0, 0.699, 0.5, 0.55, 0.109, 0.9999]) random.mockReturnValueOnce(draw);
    await simulated(1);
    const [mug, tent, lamp] = session.shown.slice(3);
    expect([mug.status, tent.status, lamp.status]).toEqual(["bought", "pending", "bought"]);
    expect(mug.reportAt).toBeCloseTo(NOW + 4000 * Math.LN2, 3);
    expect([tent.reportAt, lamp.reportAt]).toEqual([undefined, NOW + 20_000]);
  });

  it("come ten at once, and no others until they have come", async () => {
    worker.hold = new Promise(() => {});
    void session.simulate(20);
    await pass(0);
    expect(asks("/v1")).toHaveLength(11);
    expect(session.visitorsLeft).toBe(10);
    void session.simulate(50);
    expect(session.visitorsLeft).toBe(10);
  });

  it("miss nothing where nothing could be shown", async () => {
    worker.fails = 429;
    await simulated(5);
    expect([session.visits, session.visitorsLeft]).toEqual([[], 0]);
  });

  it("are followed by a few stragglers while purchases are reported, and by a new shelf after the last report", async () => {
    const random = vi.spyOn(Math, "random").mockReturnValue(0);
    await simulated(1);
    // Sam buys nothing.
    random.mockReturnValue(0.999);
    const [early, late] = session.shown.slice(3);
    early.reportAt = Date.now() + 4250;
    late.reportAt = Date.now() + 9000;
    const { shelf } = session;
    await pass(4500);
    expect(session.visits).toHaveLength(2);
    expect(session.shelf).toBe(shelf);
    await pass(5000);
    expect(session.shown.every(({ status }) => status !== "bought")).toBe(true);
    const agos = happened("purchases").flatMap((all) => all.map(({ agoMs }) => agoMs));
    expect(agos.every((agoMs) => Number.isInteger(agoMs) && agoMs >= 0)).toBe(true);
    expect(session.shelf.map(({ profile, status }) => [profile, status])).toEqual(Array(3).fill(["mira", "pending"]));
    expect(session.shelf).not.toBe(shelf);
  });

  it("leave a shelf alone from which the reader has bought, until that purchase is reported", async () => {
    const { shelf } = session;
    session.buy(shelf[0]);
    vi.spyOn(Math, "random").mockReturnValue(0);
    await simulated(1);
    expect(session.shelf).toBe(shelf);
    await pass(9000);
    expect(session.shelf).toBe(shelf);
    await pass(3000);
    expect(session.shelf).not.toBe(shelf);
  });
});
