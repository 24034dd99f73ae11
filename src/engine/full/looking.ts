import { QueueError } from '../../domain/errors.js';
import type { Failure, JobDetails, RetryPolicy, TimelineEntry } from '../../domain/rich-job.js';
import { stateOf } from '../../domain/states.js';
import { fullLook } from '../../redis/scripts/full.js';
import { decodeId, encodeId, mintedAtMs } from '../ids.js';
import { withLogData } from '../log-data.js';
import type { ScriptRunner } from '../script-runner.js';

const HEADER_BYTES = 24;
const FIELDS_PER_JOB = 7;

/** Shows jobs whole. */
export class Looking {
  constructor(private readonly runner: ScriptRunner) {}

  /** All that is known of a job; null if there is none. */
  async find(namespace: string, id: string): Promise<JobDetails | null> {
    const [job = null] = await this.findMany(namespace, [id]);
    return job;
  }

  /** The same of up to 64 jobs, in order. */
  async findMany(namespace: string, ids: readonly string[]): Promise<(JobDetails | null)[]> {
    const encoded = ids.map((id) => encodeId(id) ?? Buffer.alloc(0));
    const { items, nowMs } = await this.runner.run(
      fullLook,
      namespace,
      {},
      encoded.map((id) => [id]),
    );
    return encoded.map((id, i) =>
      detailsOf(id, items.slice(i * FIELDS_PER_JOB, (i + 1) * FIELDS_PER_JOB), nowMs),
    );
  }
}

function detailsOf(
  encodedId: Buffer,
  [value, queue, score, extras, needs, users, failed]: readonly unknown[],
  nowMs: number,
): JobDetails | null {
  if (!Buffer.isBuffer(value)) throw new QueueError('internal', 'full_look has no value');
  if (value.length === 0) return null;
  const x = fieldsOf(extras);
  const state = stateOf(value.readUInt8(1));
  const at = String(score) === '' ? null : Math.floor(Number(String(score)));
  const expiresMs = value.readUIntBE(17, 6);
  const number = (field: string): number => Number(text(x, field) ?? 0);
  const published = number('put') || mintedAtMs(encodedId);
  const result = x.get('result');
  return {
    id: decodeId(encodedId),
    queue: String(queue),
    state,
    body: value.subarray(HEADER_BYTES),
    contentType: text(x, 'ctype'),
    type: text(x, 'type'),
    tags: (json(x, 'tags') as string[] | null) ?? [],
    attributes: json(x, 'attributes') as JobDetails['attributes'],
    priority: value.readInt8(3),
    triesLeft: value.readUInt16BE(4),
    attempts: value.readUInt16BE(6),
    crashes: number('crashes'),
    failures: number('failures'),
    lease: value.readUInt32BE(8),
    publishedAtMs: published === 0 ? null : published,
    dueAtMs: state === 'scheduled' ? at : null,
    expiresAtMs: expiresMs === 0 ? null : expiresMs,
    leaseEndsAtMs: state === 'leased' ? at : null,
    endedAtMs: text(x, 'ended') === null ? null : number('ended'),
    worker: state === 'leased' ? text(x, 'worker') : null,
    progress: json(x, 'progress'),
    failure: failureOf(x),
    cancelRequested: x.has('cancel'),
    tracked: x.has('tracked'),
    result:
      x.has('rtype') || result ? { body: result ?? Buffer.alloc(0), contentType: text(x, 'rtype') } : null,
    dependsOn: idsOf(needs),
    failedDependencies: failedOf(failed),
    dependents: idsOf(users),
    onDependencyFailure: (text(x, 'onfail') ?? 'block') as JobDetails['onDependencyFailure'],
    uniqueKey: text(x, 'unique'),
    concurrencyKey: text(x, 'ckey'),
    spawnedFrom: text(x, 'spawned'),
    retry: json(x, 'retry') as RetryPolicy | null,
    timeline: timelineOf(x, published, nowMs),
  };
}

type Fields = ReadonlyMap<string, Buffer>;

function fieldsOf(list: unknown): Fields {
  const fields = new Map<string, Buffer>();
  if (!Array.isArray(list)) return fields;
  for (let i = 0; i + 1 < list.length; i += 2) fields.set(String(list[i]), list[i + 1] as Buffer);
  return fields;
}

function idsOf(list: unknown): string[] {
  return Array.isArray(list) ? (list as Buffer[]).map(decodeId).sort() : [];
}

function failedOf(list: unknown): Record<string, string> {
  const failed: Record<string, string> = {};
  if (!Array.isArray(list)) return failed;
  for (let i = 0; i + 1 < list.length; i += 2) failed[decodeId(list[i] as Buffer)] = String(list[i + 1]);
  return failed;
}

function text(x: Fields, field: string): string | null {
  return x.get(field)?.toString() ?? null;
}

function json(x: Fields, field: string): unknown {
  const value = text(x, field);
  return value === null ? null : JSON.parse(value);
}

function failureOf(x: Fields): Failure | null {
  const group = text(x, 'fgroup');
  if (group === null) return null;
  return {
    group,
    message: text(x, 'fmessage') ?? '',
    atMs: Number(text(x, 'fat') ?? 0),
    worker: text(x, 'fworker'),
  };
}

/** The entries in the order in which they were made. A plain job has none but its publish, which its id tells of. */
function timelineOf(x: Fields, publishedMs: number, nowMs: number): TimelineEntry[] {
  const entries: { readonly n: number; readonly entry: TimelineEntry }[] = [];
  for (const [field, value] of x) {
    if (!/^h\d+$/.test(field)) continue;
    const { at, n, ...rest } = JSON.parse(value.toString()) as { at: number; what: string; n: number };
    entries.push({ n, entry: { ...(withLogData(rest) as typeof rest), atMs: at } });
  }
  if (entries.length === 0 && publishedMs > 0) {
    return [{ what: 'published', atMs: Math.min(publishedMs, nowMs) }];
  }
  return entries.sort((one, other) => one.n - other.n).map(({ entry }) => entry);
}
