import { allocate, allocateDoubles, release } from "../memory";

describe("memory", () => {
  it("gives aligned blocks that do not overlap", () => {
    const a = allocate(40);
    const b = allocate(24);
    memory.fill(a, 1, 40);
    memory.fill(b, 2, 24);
    expect<usize>((a | b) & 15).toBe(0);
    expect<u8>(load<u8>(a, 39)).toBe(1);
    expect<u8>(load<u8>(b)).toBe(2);
    release(a);
    release(b);
  });

  it("does not grow when blocks of changing size come and go", () => {
    release(allocate(1 << 20));
    const pages = memory.size();
    for (let round = 0; round < 1000; round++) {
      const a = allocate(1000 + 37 * round);
      const b = allocate(100_000 - 50 * round);
      const c = allocate(300_000);
      release(b);
      release(a);
      release(c);
    }
    expect<i32>(memory.size()).toBe(pages);
  });

  it("merges neighbours whatever the order of release", () => {
    const whole = allocate(1 << 18);
    release(whole);
    const parts: usize[] = [];
    for (let i = 0; i < 64; i++) parts.push(allocate(4000));
    for (let i = 0; i < 64; i++) release(parts[(i * 37) % 64]);
    const pages = memory.size();
    release(allocate(1 << 18));
    expect<i32>(memory.size()).toBe(pages);
  });

  it("answers 0 where memory cannot grow", () => {
    expect<usize>(allocate(u32.MAX_VALUE)).toBe(0);
    expect<usize>(allocateDoubles(1 << 29)).toBe(0, "4 GB would wrap to 0 bytes");
    expect<usize>(allocateDoubles(1 << 40)).toBe(0);
  });

  it("releases nothing at 0", () => {
    release(0);
  });
});
