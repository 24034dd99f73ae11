import { DependentsError, QueueError } from '../../../src/domain/errors.js';

/** The result, or the code of the error. */
export async function answerOf<T>(call: Promise<T>): Promise<T | string> {
  return call.catch((error: unknown) => {
    if (error instanceof QueueError) return error.code;
    throw error;
  });
}

/** The answer to a lease operation. */
export interface Outcome {
  readonly answer: string;
  readonly [field: string]: unknown;
}

export async function outcomeOf(call: Promise<object>): Promise<Outcome> {
  const outcome = await answerOf(call);
  if (typeof outcome === 'string') return { answer: outcome === 'job_not_found' ? 'not_found' : outcome };
  return { answer: 'done', ...outcome };
}

/** The refusal of a cancel of many, with the jobs that prevent it and those that depend on them. */
export function manyRefusal(error: unknown): {
  readonly dependents: readonly string[];
  readonly hindered: readonly string[] | undefined;
} {
  if (error instanceof DependentsError)
    return { dependents: [...error.dependents].sort(), hindered: error.ids };
  throw error;
}

/** The refusal of a cancel, with the dependents that prevent it. */
export function cancelRefusal(error: unknown): {
  readonly code: string;
  readonly dependents?: readonly string[];
} {
  if (error instanceof DependentsError) return { code: error.code, dependents: [...error.dependents].sort() };
  if (error instanceof QueueError) return { code: error.code };
  throw error;
}
