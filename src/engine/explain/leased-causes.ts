import type { Cause } from '../../contract/explain.js';
import { isoTime, isoTimeOrNull } from '../../domain/iso-time.js';
import type { LoopStatus } from '../../domain/loop.js';
import { cause, type KnownJob, type Reason, THIS_SERVER } from './cause.js';
import type { JobReasons } from './reasons.js';
import { duration, lowerFirst, moment } from './sentences.js';

/* A job that is leased. */

function leaseFacts({ job, session, leasedAtMs, runEndsAtMs }: JobReasons) {
  return {
    worker: job.worker,
    attempt: job.attempts,
    leased_at: isoTimeOrNull(leasedAtMs),
    lease_ends_at: isoTimeOrNull(job.leaseEndsAtMs),
    run_ends_at: isoTimeOrNull(runEndsAtMs),
    heartbeat_at: isoTimeOrNull(session?.heartbeatAtMs ?? null),
  };
}

function holderOf({ job }: JobReasons): string {
  return job.worker === null ? 'A worker without a name' : `The worker ${job.worker}`;
}

/** Why the loops of this process have not returned a job whose lease ended at `endedMs`. */
function whyLate(loops: readonly LoopStatus[], endedMs: number): string {
  const failed = loops.find(({ lastError }) => lastError !== null && lastError.atMs >= endedMs);
  const ranMs = lastRunMs(loops);
  if (failed?.lastError)
    return `the loop ${failed.name} of this server failed ${isoTime(failed.lastError.atMs)}; its status (pumphouse loop ls) has the error`;
  if (loops.every(({ nextRunMs }) => nextRunMs === null))
    return ranMs === null
      ? 'the pump of this server does not run'
      : `the pump of this server has stopped; it ran last ${isoTime(ranMs)}`;
  return 'the pump is late: it has other jobs to move first, or Redis is slow';
}

function lastRunMs(loops: readonly LoopStatus[]): number | null {
  const times = loops.flatMap(({ lastRunMs: ms }) => ms ?? []);
  return times.length === 0 ? null : Math.max(...times);
}

function leaseEnded({ reasons, nowMs, remedies }: KnownJob): Cause | null {
  const { state, leaseEndsAtMs, attempts, id } = reasons.job;
  if (state !== 'leased' || leaseEndsAtMs === null || leaseEndsAtMs > nowMs) return null;
  const { loops } = reasons;
  const failedMs = loops.flatMap(({ lastError }) => lastError?.atMs ?? []);
  return cause(
    'lease_ended',
    `The lease of attempt ${String(attempts)} ended ${moment(leaseEndsAtMs, nowMs)}, and no server has returned the job yet: ${whyLate(loops, leaseEndsAtMs)}.`,
    {
      facts: {
        ...leaseFacts(reasons),
        late_ms: nowMs - leaseEndsAtMs,
        pump_ran_at: isoTimeOrNull(lastRunMs(loops)),
        pump_failed_at: failedMs.length === 0 ? null : isoTime(Math.max(...failedMs)),
        seen_by: THIS_SERVER,
      },
      sinceMs: leaseEndsAtMs,
      remedies: [remedies.revoke(id)],
    },
  );
}

function cancelRequested({ reasons, nowMs, remedies }: KnownJob): Cause | null {
  const { state, cancelRequested: isRequested, leaseEndsAtMs, timeline, id } = reasons.job;
  if (state !== 'leased' || !isRequested) return null;
  const request = timeline.findLast(({ what }) => what === 'cancel_requested');
  const ends = [leaseEndsAtMs, request?.['revokedAtMs']].filter((ms) => typeof ms === 'number');
  // The grace ends the lease, or the lease ends before.
  const endsAtMs = ends.length === 0 ? null : /* guard: grace-ends-before-lease */ Math.min(...ends);
  const until = endsAtMs === null ? '' : ` Its lease ends at ${moment(endsAtMs, nowMs)}.`;
  return cause(
    'cancel_requested',
    `A cancel is requested, and ${lowerFirst(holderOf(reasons))} has not answered it.${until}`,
    {
      facts: leaseFacts(reasons),
      ...{ sinceMs: request?.atMs ?? null, nextAtMs: endsAtMs },
      remedies: [remedies.revoke(id)],
    },
  );
}

function leaseSilent({ reasons, nowMs, remedies }: KnownJob): Cause | null {
  const { session, job } = reasons;
  if (job.state !== 'leased' || session === null) return null;
  const { heartbeatAtMs, ttrMs } = session;
  if (nowMs - heartbeatAtMs < ttrMs / 2) return null;
  const until = job.leaseEndsAtMs === null ? '' : `, at ${moment(job.leaseEndsAtMs, nowMs)}`;
  return cause(
    'lease_silent',
    `${holderOf(reasons)} has the job, and sent its last heartbeat ${moment(heartbeatAtMs, nowMs)}; its session ends ${duration(ttrMs)} after a heartbeat. The job returns when the lease ends${until}.`,
    {
      facts: { ...leaseFacts(reasons), session_ttr_ms: ttrMs },
      sinceMs: heartbeatAtMs,
      nextAtMs: job.leaseEndsAtMs,
      remedies: [remedies.revoke(job.id)],
    },
  );
}

function leased({ reasons, nowMs, remedies }: KnownJob): Cause | null {
  const { state, attempts, leaseEndsAtMs, id } = reasons.job;
  if (state !== 'leased') return null;
  const { leasedAtMs: sinceMs, runEndsAtMs, session } = reasons;
  const since = sinceMs === null ? '' : ` for ${duration(nowMs - sinceMs)}`;
  const until = leaseEndsAtMs === null ? '' : `, until ${moment(leaseEndsAtMs, nowMs)}`;
  const run = runEndsAtMs === null ? '' : ` Its max_run_ms ends the run at ${moment(runEndsAtMs, nowMs)}.`;
  const seen = session === null ? '' : ` Its last heartbeat was ${moment(session.heartbeatAtMs, nowMs)}.`;
  return cause(
    'leased',
    `The job runs: ${lowerFirst(holderOf(reasons))} has leased it${since}${until}; this is attempt ${String(attempts)}.${run}${seen}`,
    { facts: leaseFacts(reasons), sinceMs, nextAtMs: leaseEndsAtMs, remedies: [remedies.revoke(id)] },
  );
}

/** In the order in which the first that holds is the cause. */
export const JOB_LEASED: readonly Reason<KnownJob>[] = [leaseEnded, cancelRequested, leaseSilent, leased];
