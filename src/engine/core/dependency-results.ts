import type { DependencyResult, DependencyState } from '../../domain/job/dependency.js';
import { stateOf } from '../../domain/job/states.js';
import { decodeId } from './ids.js';

/** States beyond those of the header of a job: lua/modules/jobs/dependency_results.lua. */
const GONE = new Map<number, DependencyState>([
  [9, 'expired'],
  [10, 'deleted'],
  [11, 'replaced'],
  [12, 'missing'],
]);
/** What follows an entry: a result, or that one is left out. */
const RESULT = 1;
const LEFT_OUT = 2;

/** Decodes what lua/modules/jobs/dependency_results.lua makes of the dependencies of a job. */
export function dependencyResultsOf(bytes: Buffer): DependencyResult[] {
  const dependencies: DependencyResult[] = [];
  let at = 0;
  const take = (length: number): Buffer => bytes.subarray(at, (at += length));
  while (at < bytes.length) {
    const id = decodeId(take(bytes.readUInt8(at++)));
    const number = bytes.readUInt8(at++);
    const state = GONE.get(number) ?? stateOf(number);
    const kind = bytes.readUInt8(at++);
    if (kind !== RESULT) {
      dependencies.push({ id, state, result: null, ...(kind === LEFT_OUT ? { truncated: true } : {}) });
      continue;
    }
    const contentType = take(bytes.readUInt8(at++)).toString() || null;
    at += 4;
    dependencies.push({ id, state, result: { body: take(bytes.readUInt32BE(at - 4)), contentType } });
  }
  return dependencies;
}
