import { QueueError } from '../../domain/errors.js';
import { type JobDetails } from '../../contract/job/extended-job.js';
import {
  type JobPlace,
  type NoHandler,
  SERVER_KEY,
  type TimelineEntry,
} from '../../domain/job/extended-job.js';
import { readJobs, jobQueues } from '../../redis/scripts/extended.js';
import { stateOf } from '../../domain/job/states.js';
import { bytesAt, integerAt } from '../../redis/scripts/script.js';
import { dependencyResultsOf } from '../core/dependency-results.js';
import { fieldsOf } from '../core/flat-lists.js';
import { decodeId, encodeId } from '../core/ids.js';
import { publishedAtMs, timeOrNull } from '../core/published-at.js';
import { keptOptionsOf } from '../publish/stored-options.js';
import { withLogData } from '../core/log-data.js';
import type { ScriptRunner } from '../core/scripts.js';
import { parsed, summaryOf } from './summary.js';

const HEADER_BYTES = 24;
const FIELDS_PER_JOB = 8;
/** Jobs per script call that looks up where they are. */
const PLACES_IN_ONE = 256;

/** Reads complete jobs. */
export class JobReader {
  constructor(private readonly runner: ScriptRunner) {}

  /** All details of a job; null if there is none. */
  async find(namespace: string, id: string): Promise<JobDetails | null> {
    const [job = null] = await this.findMany(namespace, [id]);
    return job;
  }

  /** Like `find` for up to 64 jobs, in order. */
  async findMany(namespace: string, ids: readonly string[]): Promise<(JobDetails | null)[]> {
    const encoded = ids.map((id) => encodeId(id) ?? Buffer.alloc(0));
    const { items, nowMs } = await this.runner.run(
      readJobs,
      namespace,
      {},
      encoded.map((id) => [id]),
    );
    return encoded.map((id, i) =>
      detailsOf(id, items.slice(i * FIELDS_PER_JOB, (i + 1) * FIELDS_PER_JOB), nowMs),
    );
  }

  /** The queue and the state of each job, in order; null if there is no such job. */
  async placesOf(namespace: string, ids: readonly string[]): Promise<(JobPlace | null)[]> {
    const places: (JobPlace | null)[] = [];
    for (let i = 0; i < ids.length; i += PLACES_IN_ONE) {
      const items = ids.slice(i, i + PLACES_IN_ONE).map((id) => [encodeId(id) ?? Buffer.alloc(0)]);
      const { raw } = await this.runner.run(jobQueues, namespace, {}, items);
      for (let at = 2; at + 1 < raw.length; at += 2) {
        const queue = bytesAt(raw, at).toString();
        places.push(queue === '' ? null : { queue, state: stateOf(integerAt(raw, at + 1)) });
      }
    }
    return places;
  }
}

/** Decodes the parts of a job in the replies of queries/read_jobs and explain_job; null = there is no such job. */
export function detailsOf(
  id: Buffer,
  [value, queue, score, extras, needs, users, failed, dependencies]: readonly unknown[],
  nowMs: number,
): JobDetails | null {
  if (!Buffer.isBuffer(value))
    throw new QueueError('internal', `${readJobs.label}: the reply has no value of a job`);
  if (value.length === 0) return null;
  const x = fieldsOf(extras);
  const field = (name: string): string | undefined => x.get(name)?.toString();
  const publishedMs = Number(field('put') ?? 0) || publishedAtMs(id, value, nowMs);
  const result = x.get('result');
  const summary = summaryOf({ id, header: value, queue: String(queue), score: String(score), field }, nowMs);
  return {
    ...summary,
    publishedAtMs: timeOrNull(publishedMs),
    endedAtMs: x.has('ended') ? Number(field('ended')) : summary.endedAtMs,
    body: value.subarray(HEADER_BYTES),
    contentType: field('ctype') ?? null,
    cancelRequested: x.has('cancel'),
    result:
      x.has('rtype') || result
        ? { body: result ?? Buffer.alloc(0), contentType: field('rtype') ?? null }
        : null,
    dependsOn: idsOf(needs),
    failedDependencies: failedOf(failed),
    dependencies: dependencyResultsOf(dependencies as Buffer),
    dependents: idsOf(users),
    onDependencyFailure: (field('onfail') ?? 'block') as JobDetails['onDependencyFailure'],
    uniqueKey: callersKeyOf(field('unique')),
    spawnedFrom: field('spawned') ?? null,
    ...keptOptionsOf(field),
    noHandler: noHandlerOf(field('no_handler')),
    timeline: timelineOf(x, publishedMs, nowMs),
  };
}

function noHandlerOf(text: string | undefined): NoHandler | null {
  const stored = parsed(text) as { count: number; worker?: string; at: number } | null;
  return stored && { count: stored.count, worker: stored.worker ?? null, atMs: stored.at };
}

type Fields = ReadonlyMap<string, Buffer>;

function idsOf(list: unknown): string[] {
  return Array.isArray(list) ? (list as Buffer[]).map(decodeId).sort() : [];
}

/** A key of the server's own is not shown: no call takes it. */
function callersKeyOf(key: string | undefined): string | null {
  return key === undefined || key.startsWith(SERVER_KEY) ? null : key;
}

function failedOf(list: unknown): Record<string, string> {
  const failed: Record<string, string> = {};
  if (!Array.isArray(list)) return failed;
  for (let i = 0; i + 1 < list.length; i += 2) failed[decodeId(list[i] as Buffer)] = String(list[i + 1]);
  return failed;
}

/** A timeline entry as scripts store it; times in Unix ms. */
interface StoredEntry {
  readonly what: string;
  readonly n: number;
  readonly at: number;
  readonly due?: number;
  readonly revoked_at?: number;
}

/** Timeline entries in the order in which they were made. A simple job has only its publish, known from its id. */
function timelineOf(x: Fields, publishedMs: number, nowMs: number): TimelineEntry[] {
  const entries: { readonly n: number; readonly entry: TimelineEntry }[] = [];
  for (const [field, value] of x) {
    if (!/^h\d+$/.test(field)) continue;
    const { at, n, due, revoked_at, ...rest } = JSON.parse(value.toString()) as StoredEntry;
    const times = {
      ...(due === undefined ? {} : { dueAtMs: due }),
      ...(revoked_at === undefined ? {} : { revokedAtMs: revoked_at }),
    };
    entries.push({ n, entry: { ...(withLogData(rest) as typeof rest), ...times, atMs: at } });
  }
  if (entries.length === 0 && publishedMs > 0) {
    return [{ what: 'published', atMs: Math.min(publishedMs, nowMs) }];
  }
  return entries.sort((one, other) => one.n - other.n).map(({ entry }) => entry);
}
