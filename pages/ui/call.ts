/** A refusal by the worker, with the detail of its problem. */
export class Refusal extends Error {
  readonly status: number;

  constructor(status: number, detail: string) {
    super(detail);
    this.status = status;
  }
}

/** @throws {Refusal} with the worker's reason. @throws {TypeError} if it does not answer. */
export async function call<Body>(path: string, init: RequestInit = {}): Promise<Body> {
  const response = await fetch(path, init);
  if (response.ok) return (await response.json()) as Body;
  // A proxy's error page is not JSON.
  const { detail } = (await response.json().catch(() => ({}))) as { detail?: string };
  throw new Refusal(response.status, detail ?? `the worker answered ${response.status}`);
}

/** The reason of a failed call, for the reader of the page. */
export function reasonOf(error: unknown): string {
  return error instanceof Refusal ? error.message : "the worker does not answer";
}
