type Complaint = readonly unknown[];

let heard: Complaint[] = [];

/** Keeps what is said on the console from now on. It stays off the screen until `unexpected` is asked for. */
export function listen(): void {
  heard = [];
  for (const method of ["error", "warn"] as const) console[method] = (...complaint: Complaint) => void heard.push(complaint);
}

/** What the worker has complained of since it was asked last, without the places in the code. A test that expects complaints takes them. */
export function complaints(): string[] {
  return heard.splice(0).map((complaint) => complaint.filter((part) => typeof part === "string").join(" "));
}

/** Whole complaints that no test has taken. */
export function unexpected(): Complaint[] {
  return heard.splice(0);
}
