import type { FailureGroup } from '../../domain/job/job-lists.js';
import { bytesAt, integerAt, type Raw } from '../../redis/scripts/script.js';
import { failureGroups } from '../../redis/scripts/extended.js';
import { decodeId } from '../core/ids.js';
import type { ScriptRunner } from '../core/scripts.js';

/** Groups that one script describes: about a millisecond of Redis. */
const STEP = 25;
/** Hours of the trend: lua/commands/queries/failure_groups.lua. */
const HOURS = 24;
const FIELDS = 6 + HOURS;
/** Most characters of the message of a sample. */
const MOST_CHARACTERS = 500;
/** Of UTF-8: a character that the script has cut is behind those that are shown. */
const MOST_BYTES = 4 * MOST_CHARACTERS;

/** Describes failure groups, without those that have no job any more. @throws {QueueError} an error of the store */
export async function describeGroups(
  runner: ScriptRunner,
  namespace: string,
  names: readonly string[],
): Promise<FailureGroup[]> {
  const found: FailureGroup[] = [];
  for (let i = 0; i < names.length; i += STEP) {
    const some = names.slice(i, i + STEP);
    const items = some.map((name) => [name]);
    const { raw } = await runner.run(failureGroups, namespace, { most_bytes: MOST_BYTES }, items);
    found.push(...some.map((name, n) => groupAt(raw, 2 + n * FIELDS, name)));
  }
  return found.filter(({ jobs }) => jobs > 0);
}

function groupAt(raw: Raw['raw'], at: number, name: string): FailureGroup {
  const [jobs, firstAtMs, lastAtMs] = [integerAt(raw, at), integerAt(raw, at + 1), integerAt(raw, at + 2)];
  const trend = Array.from({ length: HOURS }, (_, hour) => integerAt(raw, at + 6 + hour));
  return { name, jobs, firstAtMs, lastAtMs, sample: sampleAt(raw, at + 3), trend };
}

function sampleAt(raw: Raw['raw'], at: number): FailureGroup['sample'] {
  const id = bytesAt(raw, at);
  if (id.length === 0) return null;
  const message = Array.from(bytesAt(raw, at + 2).toString())
    .slice(0, MOST_CHARACTERS)
    .join('');
  return { id: decodeId(id), queue: bytesAt(raw, at + 1).toString(), message };
}
