import { allocateDoubles } from "../memory";
import { normals } from "../numbers/random";

// Test data in the core's memory. Nothing is released: a spec file is one short-lived module.

// The tests' runtime takes all memory there is when it is first used, which must be before the core's allocator grows it.
heap.free(heap.alloc(1));

/** A copy of `values`. */
export function vector(values: f64[]): usize {
  const pointer = zeros(values.length);
  for (let i = 0; i < values.length; i++) put(pointer, i, values[i]);
  return pointer;
}

export function zeros(count: i32): usize {
  const pointer = allocateDoubles(count);
  memory.fill(pointer, 0, count << 3);
  return pointer;
}

/** `count` standard normal numbers, others for every `id`. */
export function noise(id: u32, count: i32): usize {
  const pointer = zeros(count);
  normals(1, 2, id, 4, 0, count, pointer);
  return pointer;
}

export function get(pointer: usize, i: i32): f64 {
  return load<f64>(pointer + (i << 3));
}

export function put(pointer: usize, i: i32, value: f64): void {
  store<f64>(pointer + (i << 3), value);
}

/** Entry (i, j) of a packed lower triangle, 0 above it. */
export function lower(packed: usize, i: i32, j: i32): f64 {
  return j > i ? 0 : get(packed, i * (i + 1) / 2 + j);
}

/** The largest absolute difference of `count` numbers; NaN if there is one. */
export function distance(a: usize, b: usize, count: i32): f64 {
  let largest: f64 = 0;
  for (let i = 0; i < count; i++) largest = max(largest, abs(get(a, i) - get(b, i)));
  return largest;
}

export function sameBits(a: usize, b: usize, count: i32): bool {
  return memory.compare(a, b, count << 3) == 0;
}
