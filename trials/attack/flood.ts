import type { Answer, Verdict } from "./judge.ts";

/** The limit of wrangler.jsonc is 1,000 requests a minute. A new minute may begin meanwhile. */
const MOST = 2200;
const AT_ONCE = 8;

/** The worker must slow a caller down who repeats a request without end. */
export async function slowing(request: () => Promise<Answer>): Promise<Verdict> {
  let sent = 0;
  let slowed = false;
  const client = async () => {
    while (sent++ < MOST && !slowed) slowed ||= (await request()).status === 429;
  };
  await Promise.all(Array.from({ length: AT_ONCE }, client));
  return slowed ? null : `expected 429 within ${MOST} requests, got none`;
}
