/** An error answer of the worker. The message is the `detail` of its problem document. */
export class Refusal extends Error {
  readonly status: number;

  constructor(status: number, detail: string) {
    super(detail);
    this.status = status;
  }
}

/** Fetches JSON. @throws {Refusal} if the worker answers with an error. @throws {TypeError} if the worker does not answer. */
export async function call<Body>(path: string, init: RequestInit = {}): Promise<Body> {
  const response = await fetch(path, init);
  if (response.ok) return (await response.json()) as Body;
  // A proxy's error page is not JSON.
  const { detail } = (await response.json().catch(() => ({}))) as { detail?: string };
  throw new Refusal(response.status, detail ?? `the worker answered ${response.status}`);
}

/** The reason of a failed call, as a clause for the page. */
export function reasonOf(error: unknown): string {
  return error instanceof Refusal ? error.message : "the worker does not answer";
}
