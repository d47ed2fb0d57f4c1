type Complaint = readonly unknown[];

let heard: Complaint[] = [];

/** Collects console messages instead of printing them, until `unexpected` is called. */
export function listen(): void {
  heard = [];
  for (const method of ["error", "warn"] as const) console[method] = (...complaint: Complaint) => void heard.push(complaint);
}

/** Returns the worker's messages since the last call, without code locations. A test that expects messages takes them. */
export function complaints(): string[] {
  return heard.splice(0).map((complaint) => complaint.filter((part) => typeof part === "string").join(" "));
}

/** Complete messages that no test has taken. */
export function unexpected(): Complaint[] {
  return heard.splice(0);
}
