import { DependentsError, QueueError } from '../../../src/domain/errors.js';

/** The result, or the code of the error that stands for it. */
export async function answerOf<T>(call: Promise<T>): Promise<T | string> {
  return call.catch((error: unknown) => {
    if (error instanceof QueueError) return error.code;
    throw error;
  });
}

/** What an owner is told. */
export interface Told {
  readonly answer: string;
  readonly [field: string]: unknown;
}

export async function toldOf(call: Promise<object>): Promise<Told> {
  const told = await answerOf(call);
  if (typeof told === 'string') return { answer: told === 'job_not_found' ? 'not_found' : told };
  return { answer: 'done', ...told };
}

/** The same of a cancel, with those that are in its way. */
export function cancelRefusal(error: unknown): {
  readonly code: string;
  readonly dependents?: readonly string[];
} {
  if (error instanceof DependentsError) return { code: error.code, dependents: [...error.dependents].sort() };
  if (error instanceof QueueError) return { code: error.code };
  throw error;
}
