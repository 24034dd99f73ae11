import type { LeaseRequest } from '../../domain/job/job.js';
import type { Item } from '../../redis/scripts/script.js';

/** A request whose ttr is known. */
export interface TimedLeaseRequest extends LeaseRequest {
  readonly ttrMs: number;
  /** On the extended path, the ttr of the job or the default of its queue comes before `ttrMs`. */
  readonly hasOwnTtr?: boolean;
}

/** A request for jobs; with `waits`, an empty reply registers this server as waiting for the queues, atomically. */
export interface FetchRequest {
  readonly request: TimedLeaseRequest;
  readonly waits: boolean;
  /** Equal requests for one job each that it stands for, `request` among them; if omitted, it is one request. */
  readonly sharedBy?: readonly TimedLeaseRequest[];
}

/** The request without its linger: it takes the jobs that are there. */
export function withoutLinger(request: TimedLeaseRequest): TimedLeaseRequest {
  const { linger: _linger, ...rest } = request;
  return rest;
}

type Terms = Pick<TimedLeaseRequest, 'queues' | 'ttrMs'>;

/**
 * Fetch requests that are sent as one item: many requests for one job each from the same queues share one check of
 * them.
 */
export interface Group {
  readonly queues: readonly string[];
  readonly ttrMs: number;
  readonly waits: boolean;
  /** Total number of jobs requested. */
  count: number;
  /** Indexes of its fetch requests in the batch; a shared one is there as often as it stands for a request. */
  readonly members: number[];
}

/**
 * Groups the fetch requests of a batch in their order: a request joins a group only if no request in between may take
 * its jobs.
 */
export function groupsOf(requests: readonly FetchRequest[]): Group[] {
  const groups: Group[] = [];
  const lastFor = new Map<string, Group>();
  requests.forEach((fetch, i) => {
    const { request, waits } = fetch;
    const { queues, count, ttrMs } = request;
    const known = lastFor.get(queues[0] ?? '');
    const clients = fetch.sharedBy?.length ?? 1;
    if (
      known &&
      isEqual(known, fetch) &&
      // guard: lease-calls-keep-their-order
      queues.every((queue) => lastFor.get(queue) === known)
    ) {
      known.count += clients;
      for (let k = 0; k < clients; k++) known.members.push(i);
      return;
    }
    const members = new Array<number>(clients).fill(i);
    const group = { queues, ttrMs, waits, count: count * clients, members };
    groups.push(group);
    for (const queue of queues) lastFor.set(queue, group);
  });
  return groups;
}

/** True if both request one job per client, with the same terms. */
function isEqual(group: Group, { request, waits }: FetchRequest): boolean {
  return (
    request.count === 1 &&
    group.count === group.members.length &&
    group.waits === waits &&
    haveSameTerms(group, request)
  );
}

/** Leases of the same duration, from the same queues in the same order. */
export function haveSameTerms(a: Terms, b: Terms): boolean {
  return (
    a.ttrMs === b.ttrMs &&
    a.queues.length === b.queues.length &&
    a.queues.every((queue, i) => queue === b.queues[i])
  );
}

/** Encodes a group as an item of lua/commands/simple/lease.lua. */
export function itemOf({ queues, count, members, ttrMs, waits }: Group): Item {
  return [queues.join(','), count, members.length, ttrMs, waits ? '1' : '0'];
}

/**
 * The part of a fetch request whose clients are still connected; null = there is none. A job leased for a disconnected
 * client could only be given back, and no client would get it until then.
 */
export function presentPartOf(fetch: FetchRequest): FetchRequest | null {
  const { sharedBy } = fetch;
  if (!sharedBy) return isPresent(fetch.request) ? fetch : null;
  if (sharedBy.every(isPresent)) return fetch;
  const present = sharedBy.filter(isPresent);
  return present.length > 0 ? { ...fetch, sharedBy: present } : null;
}

function isPresent({ signal }: TimedLeaseRequest): boolean {
  // guard: no-lease-for-a-closed-client
  return signal?.aborted !== true;
}
