import type {
  SessionHeartbeat,
  SessionHeartbeatResult,
  WorkerFacts,
  WorkerInfo,
} from '../domain/job-lists.js';
import { isoTime } from '../http/answer/reply.js';
import type { Plain } from '../http/fields/field.js';
import { given } from '../http/fields/given.js';
import type {
  SessionHeartbeatAnswer,
  SessionHeartbeatFields,
  WorkerAnswer,
  WorkerInfoFields,
} from './dto.v1.js';

/** Builds the heartbeat of a session from fields that were validated. */
export function sessionHeartbeatOf({ ttr_ms, leases, info }: SessionHeartbeatFields): SessionHeartbeat {
  return given<SessionHeartbeat>({ ttrMs: ttr_ms, leases, info: info && infoOf(info) });
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
    jobs: jobs.map(({ id, status, cancelRequested }) => ({ id, status, cancel_requested: cancelRequested })),
    quiet,
    stop,
  };
}

export function workerAnswer({ name, seenAtMs, leased, stalled, session }: WorkerFacts): Plain<WorkerAnswer> {
  const { info } = session ?? {};
  return {
    ...{ name, seen_at: isoTime(seenAtMs), leased, stalled },
    display_name: info?.name ?? null,
    host: info?.host ?? null,
    pid: info?.pid ?? null,
    version: info?.version ?? null,
    language: info?.language ?? null,
    queues: info?.queues ?? null,
    concurrency: info?.concurrency ?? null,
    jobs_at_hand: session?.jobsAtHand ?? null,
    started_at: session === null ? null : isoTime(session.startedAtMs),
    heartbeat_at: session === null ? null : isoTime(session.heartbeatAtMs),
    quiet: session?.quiet ?? false,
    stop: session?.stop ?? false,
    lost: session?.isLost ?? false,
  };
}
