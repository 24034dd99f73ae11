import { MissingDependencyError, QueueError } from '../../domain/errors.js';
import { ArgumentError } from '../../contract/fields/problems.js';
import { MAX_DEPENDENCIES } from '../../domain/limits.js';
import type { NewExtendedJob } from '../../contract/job/extended-job.js';
import { encodeId } from '../core/ids.js';
import { weightOfOne } from '../core/scripts.js';

/** Maximum number of dependencies per call: what a script can store within its time limit. */
const MOST_IN_ONE_CALL = 1_000;
/**
 * A script ties jobs to so many dependencies at once (`ties_left` of lua/modules/extended/dependencies.lua); a timer does the rest. Calls
 * that share a script must not use up what another one needs.
 */
export const DEPENDENCY_WEIGHT = /* guard: shared-publish-ties-all */ weightOfOne(40);

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

/**
 * The ids that no job has, in their order.
 *
 * @param numbers what a script answers: the numbers of packed ids, from 1, with commas
 */
export function missingOf(ids: readonly string[], numbers: string): string[] {
  if (numbers === '') return ids.filter(isImpossible);
  const missing = new Set(numbers.split(',').map(Number));
  let number = 0;
  return [...new Set(ids)].filter((id) => isImpossible(id) || missing.has(++number));
}

/** No job can have it. */
function isImpossible(id: string): boolean {
  return encodeId(id) === null;
}

/** The error for ids that no job has. @param field the list of ids that are given */
export function missingDependencies(
  given: readonly string[],
  missing: readonly string[],
  field = 'dependsOn',
): MissingDependencyError {
  return new MissingDependencyError(
    missing.map((id) => [`${field}[${String(given.indexOf(id))}]`, id] as const),
  );
}

/** What a script does not see: ids that no job can have are missing. @throws {MissingDependencyError} */
export function checkPossible(ids: readonly string[], isRefused: boolean, field?: string): void {
  const impossible = isRefused ? ids.filter(isImpossible) : [];
  if (impossible.length > 0) throw missingDependencies(ids, impossible, field);
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
 * @throws {QueueError} `invalid_argument`, `dependency_cycle`, `missing_dependency`
 */
export function checkDependencies(jobs: readonly NewExtendedJob[]): void {
  let total = 0;
  jobs.forEach(({ dependsOn = [], onMissingDependency }, i) => {
    checkNumberOf(dependsOn);
    checkPossible(dependsOn, onMissingDependency === 'refuse', dependenciesOf(jobs, i));
    total += dependsOn.length;
  });
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

/** The path of the dependencies of a job of a call. */
export function dependenciesOf(jobs: readonly unknown[], job: number): string {
  return jobs.length === 1 ? 'dependsOn' : `jobs[${String(job)}].dependsOn`;
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
    `a job may have at most ${most} dependencies, and the cycle check may visit at most ${most} jobs, and read at most 4000 dependencies`,
  );
}
