import { Problem } from "../../protocol/problem.ts";
import type { Answer } from "../../rpc/message.ts";

/** The answer to a call. A problem is a value, because an exception loses its class on the way. */
export async function answer<T>(work: () => Promise<T>): Promise<Answer<T>> {
  try {
    return { value: await work() };
  } catch (error) {
    if (error instanceof Problem) return { problem: { status: error.status, detail: error.message } };
    throw error;
  }
}
