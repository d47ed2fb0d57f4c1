/** The global array with an entry for each place of instrumented code: 1 once the place is reached. */
export const PLACES = "__afterclickPlaces";

/** Many more than the product code has. */
export const MOST_PLACES = 262_144;

/** The places reached since the last call. */
export function placesReached(): string[] {
  const reached = (globalThis as unknown as Record<string, Uint8Array | undefined>)[PLACES];
  if (!reached) return [];
  const places: string[] = [];
  for (let place = reached.indexOf(1); place >= 0; place = reached.indexOf(1, place + 1)) places.push(`${place}`);
  reached.fill(0);
  return places;
}
