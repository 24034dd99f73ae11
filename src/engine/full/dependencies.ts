import { QueueError } from '../../domain/errors.js';
import { MAX_DEPENDENCIES } from '../../domain/limits.js';
import type { NewRichJob } from '../../domain/rich-job.js';
import { encodeId } from '../ids.js';

/** Most of them in one call: what a script can note within its time. */
const MOST_IN_ONE_CALL = 1_000;

/** Ids as lua/lib/full/ids.lua reads them: each once, after a byte with its length. What no job can have as its id counts as done. */
export function packIds(ids: readonly string[]): Buffer {
  const parts: Buffer[] = [];
  for (const id of new Set(ids)) {
    const encoded = encodeId(id);
    if (encoded) parts.push(Buffer.from([encoded.length]), encoded);
  }
  return Buffer.concat(parts);
}

/** @throws {QueueError} `invalid_argument`: more dependencies than a job, or a call, may have */
export function checkNumberOf(dependencies: readonly string[], field = 'dependsOn'): void {
  if (dependencies.length > MAX_DEPENDENCIES)
    throw new QueueError('invalid_argument', `${field} names at most ${String(MAX_DEPENDENCIES)} jobs`);
}

/**
 * Checks what the jobs of one call wait for. Nothing waits for a job that is not there yet, so only jobs of the same call can make a
 * circle with it.
 *
 * @throws {QueueError} `invalid_argument`, `dependency_cycle`
 */
export function checkDependencies(jobs: readonly NewRichJob[]): void {
  let total = 0;
  for (const { dependsOn = [] } of jobs) {
    checkNumberOf(dependsOn);
    total += dependsOn.length;
  }
  if (total === 0) return;
  if (total > MOST_IN_ONE_CALL)
    throw new QueueError(
      'invalid_argument',
      `dependsOn names at most ${String(MOST_IN_ONE_CALL)} jobs in one call`,
    );
  const left = new Map(jobs.flatMap((job) => (job.id === undefined ? [] : [[job.id, job] as const])));
  const isOnTheWay = new Set<string>();
  const visit = ({ id = '', dependsOn = [] }: NewRichJob): void => {
    isOnTheWay.add(id);
    for (const other of dependsOn) {
      if (isOnTheWay.has(other)) throw dependencyError('dependency_cycle');
      const next = left.get(other);
      if (next) visit(next);
    }
    isOnTheWay.delete(id);
    left.delete(id);
  };
  for (const job of jobs) if (job.id !== undefined && left.has(job.id)) visit(job);
}

/** The error of a job that may not wait for what it is to wait for. */
export function dependencyError(code: 'dependency_cycle' | 'too_many_dependencies'): QueueError {
  if (code === 'dependency_cycle') return new QueueError(code, 'the job would wait for itself');
  const most = String(MAX_DEPENDENCIES);
  return new QueueError(
    code,
    `a job waits for at most ${most} others, and as many at most lie between it and those that wait for it`,
  );
}
