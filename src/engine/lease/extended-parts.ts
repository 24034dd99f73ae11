import type { LeasedJob } from '../../domain/job/job.js';
import { type FetchRequest, withoutLinger } from './fetch-requests.js';

/** Maximum number of jobs that one call of the extended lease script takes: about 1.5 ms of Redis. */
const MOST_AT_ONCE = /* guard: lease-script-is-short */ 50;
/** Batch weight of a job to lease, in proportion to its cost in time: 50 of them fill a script. */
const TAKE_WEIGHT = 5_242;
/** Batch weight of a queue name to check, likewise. */
const NAME_WEIGHT = 262;
/** Bytes of bodies and of results of dependencies after which no further part is requested: a part has up to 4 MiB. */
const ENOUGH_BYTES = 2_097_152;

/** Limits a fetch request to what one script call may take; one that lingers takes its minimum at once. */
export function partOf(fetch: FetchRequest): FetchRequest {
  const { request, waits } = fetch;
  const most = Math.max(MOST_AT_ONCE, request.linger?.min ?? 0);
  return request.count <= most ? fetch : { request: { ...request, count: most }, waits };
}

/**
 * The rest of a fetch request after a part that found its maximum; null = nothing. It does not wait: there are jobs to
 * deliver.
 */
export function restOf({ request }: FetchRequest, found: readonly LeasedJob[]): FetchRequest | null {
  if (found.length < MOST_AT_ONCE || found.length >= request.count) return null;
  const bytes = found.reduce((sum, job) => sum + bytesOf(job), 0);
  if (bytes >= ENOUGH_BYTES) return null;
  return { request: { ...withoutLinger(request), count: request.count - found.length }, waits: false };
}

function bytesOf({ body, extended }: LeasedJob): number {
  const dependencies = extended?.dependencies ?? [];
  return dependencies.reduce((sum, { result }) => sum + (result?.body.length ?? 0), body.length);
}

/** Weight of a part in a batch. */
export function weightOfPart({ request: { count, queues } }: FetchRequest): number {
  return count * TAKE_WEIGHT + (queues.length - 1) * NAME_WEIGHT;
}
