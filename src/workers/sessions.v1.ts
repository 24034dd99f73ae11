import {
  type SessionHeartbeat,
  type SessionHeartbeatResult,
  shownSession,
  type WorkerFacts,
  type WorkerInfo,
} from '../domain/job/job-lists.js';
import { isoTime, isoTimeOrNull } from '../domain/iso-time.js';
import type { Plain } from '../http/fields/field.js';
import { given } from '../http/fields/given.js';
import type {
  SessionHeartbeatAnswer,
  SessionHeartbeatFields,
  WorkerAnswer,
  WorkerInfoFields,
} from './dto.v1.js';

/** Builds the heartbeat of a session from fields that were validated. */
export function sessionHeartbeatOf(fields: SessionHeartbeatFields): SessionHeartbeat {
  const { ttr_ms, leases, jobs_at_hand, info } = fields;
  return given<SessionHeartbeat>({
    ...{ ttrMs: ttr_ms, leases, jobsAtHand: jobs_at_hand },
    info: info && infoOf(info),
  });
}

function infoOf({ started_at, ...rest }: WorkerInfoFields): WorkerInfo {
  const startedAtMs = started_at === undefined ? undefined : Date.parse(started_at);
  return given<WorkerInfo>({ ...rest, startedAtMs });
}

export function sessionHeartbeatAnswer({
  leaseEndsAtMs,
  jobs,
  quiet,
  stop,
}: SessionHeartbeatResult): Plain<SessionHeartbeatAnswer> {
  return {
    lease_ends_at: isoTime(leaseEndsAtMs),
    jobs: jobs.map(({ id, status, state, cancelRequested }) => ({
      ...{ id, status, ...(state === undefined ? {} : { state }) },
      cancel_requested: cancelRequested,
    })),
    quiet,
    stop,
  };
}

export function workerAnswer({ name, seenAtMs, leased, stalled, session }: WorkerFacts): Plain<WorkerAnswer> {
  const { displayName, jobsAtHand, startedAtMs, heartbeatAtMs, ...shown } = shownSession(session);
  return {
    ...{ name, seen_at: isoTime(seenAtMs), leased, stalled },
    display_name: displayName,
    jobs_at_hand: jobsAtHand,
    started_at: isoTimeOrNull(startedAtMs),
    heartbeat_at: isoTimeOrNull(heartbeatAtMs),
    ...shown,
  };
}
