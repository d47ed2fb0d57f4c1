import type { Environment } from "../environment.ts";
import { Problem } from "../protocol/problem.ts";
import type { LearnerRpc } from "./learner.ts";
import type { Answer } from "./message.ts";

const RETRY_AFTER_MS = 50;

export type LearnerCall<T> = (stub: DurableObjectStub<LearnerRpc>) => Promise<Answer<T>>;

/** A learner did not answer. Every other problem is its answer. */
export class Unreachable extends Problem {
  override readonly name = "Unreachable";

  constructor(detail = "the learner cannot be reached") {
    super(503, detail);
  }
}

/**
 * Calls the learner of a model. A call that failed on its way is tried once more, unless `retry` is false.
 *
 * @throws {Problem} the learner's refusal, or 503 if it could not be reached.
 */
export async function learner<T>(
  env: Environment,
  model: string,
  call: LearnerCall<T>,
  { retry = true }: { readonly retry?: boolean } = {},
): Promise<T> {
  try {
    // Each call takes a new stub, because a stub that has failed stays broken.
    const answer = await call(env.LEARNER.get(env.LEARNER.idFromName(model)));
    if ("problem" in answer) throw new Problem(answer.problem.status, answer.problem.detail);
    return answer.value;
  } catch (error) {
    if (error instanceof Problem) throw error;
    const { retryable, overloaded } = error as { retryable?: boolean; overloaded?: boolean };
    if (retryable && !overloaded && retry) {
      await scheduler.wait(RETRY_AFTER_MS * (1 + Math.random()));
      return learner(env, model, call, { retry: false });
    }
    if (retryable || overloaded) throw new Unreachable();
    throw error;
  }
}
