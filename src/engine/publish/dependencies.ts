import { QueueError } from '../../domain/errors.js';
import { ArgumentError } from '../../contract/fields/problems.js';
import { MAX_DEPENDENCIES } from '../../domain/limits.js';
import type { NewExtendedJob } from '../../contract/job/extended-job.js';
import { encodeId } from '../core/ids.js';

/** Maximum number of dependencies per call: what a script can store within its time limit. */
const MOST_IN_ONE_CALL = 1_000;

/**
 * Encodes ids as lua/modules/extended/dependencies.lua reads them: each once, after a byte with its length. An id that no job can have
 * counts as done.
 */
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
    throw new ArgumentError(field, `names at most ${String(MAX_DEPENDENCIES)} jobs`);
}

/**
 * Checks the dependencies of the jobs of one call. No job depends on one that does not exist yet, so only jobs of the
 * same call can form a cycle.
 *
 * @throws {QueueError} `invalid_argument`, `dependency_cycle`
 */
export function checkDependencies(jobs: readonly NewExtendedJob[]): void {
  let total = 0;
  for (const { dependsOn = [] } of jobs) {
    checkNumberOf(dependsOn);
    total += dependsOn.length;
  }
  if (total === 0) return;
  if (total > MOST_IN_ONE_CALL)
    throw new ArgumentError('dependsOn', `names at most ${String(MOST_IN_ONE_CALL)} jobs in one call`);
  const left = new Map(jobs.flatMap((job) => (job.id === undefined ? [] : [[job.id, job] as const])));
  const isOnTheWay = new Set<string>();
  const visit = ({ id = '', dependsOn = [] }: NewExtendedJob): void => {
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

/** The error for a job whose dependencies are not allowed. */
export function dependencyError(code: 'dependency_cycle' | 'too_many_dependencies'): QueueError {
  if (code === 'dependency_cycle')
    return new QueueError(
      code,
      'dependency cycle: the job would wait for itself; leave out one of the dependencies',
    );
  const most = String(MAX_DEPENDENCIES);
  return new QueueError(
    code,
    `a job may have at most ${most} dependencies, and the cycle check may visit at most ${most} jobs`,
  );
}
