import { Injectable } from '@nestjs/common';
import { visibleOf } from '../auth/job-rights.js';
import type { Caller } from '../domain/caller.js';
import { notFound } from '../domain/errors.js';
import type { ExtendedLease, SessionHeartbeat, SessionHeartbeatResult } from '../contract/workers.js';
import { isForSomeQueues } from '../domain/rights.js';
import { Engines } from '../engine/engines.js';
import type { SessionCalls } from '../engine/engine.js';

/** Calls of workers on their own sessions, within the rights of their tokens. */
@Injectable()
export class SessionsService {
  constructor(private readonly engines: Engines) {}

  /**
   * A token for some queues ends only sessions that tokens for the same queues have begun.
   *
   * @throws {QueueError} `worker_not_found`
   */
  async deregister(caller: Caller, name: string): Promise<void> {
    const wasThere = await this.sessions(caller).deregister(caller.namespace, name, scopeOf(caller));
    if (!wasThere) throw notFound('worker', name);
  }

  /** Ends its lease requests that wait; as `deregister`, but that it need not be known. */
  endWaits(caller: Caller, name: string): Promise<void> {
    return this.sessions(caller).endWaits(caller.namespace, name, scopeOf(caller));
  }

  /**
   * Calls `Workers.heartbeat`. A job in a queue that the token is not for is not found.
   *
   * @throws as `Workers.heartbeat`
   */
  async heartbeat(caller: Caller, id: string, heartbeat: SessionHeartbeat): Promise<SessionHeartbeatResult> {
    const { namespace, pool } = caller;
    const { leases } = heartbeat;
    const { jobs: engineJobs } = this.engines.of(pool);
    const ids = leases.map((one) => one.id);
    const visible = new Set(await visibleOf(engineJobs, caller, ids));
    const own = leases.filter((one) => /* guard: heartbeat-within-rights */ visible.has(one.id));
    const result = await this.sessions(caller).heartbeat(namespace, id, {
      ...heartbeat,
      leases: own,
      scope: scopeOf(caller),
    });
    if (!isForSomeQueues(caller.rights)) return result;
    // A job whose lease is lost may have moved to a queue outside of the token's meanwhile.
    const lost = result.jobs.flatMap((job) => (job.status === 'lease_lost' ? [job.id] : []));
    const present = new Set(await visibleOf(engineJobs, caller, lost));
    const known = result.jobs.map((job) =>
      job.status === 'lease_lost' && /* guard: heartbeat-hides-other-queues */ !present.has(job.id)
        ? notFoundOf(job.id)
        : job,
    );
    const answers = known.values();
    const jobs = ids.map((one) => (visible.has(one) && answers.next().value) || notFoundOf(one));
    return { ...result, jobs };
  }

  private sessions({ pool }: Caller): SessionCalls {
    return this.engines.of(pool).sessions;
  }
}

/** Equal for all tokens for the same queues, so that a session outlives the rotation of its token; empty for all queues. */
function scopeOf({ rights }: Caller): string {
  return (rights?.queues ?? []).toSorted().join(',');
}

function notFoundOf(id: string): ExtendedLease {
  return { id, status: 'not_found', cancelRequested: false };
}
