import type { SessionHeartbeat, SessionHeartbeatResult, WorkerFacts } from '../domain/job/job-lists.js';
import type { Plain } from '../contract/fields/field.js';
import { toInside, toWire } from '../contract/fields/wire.js';
import { WorkerAnswer, workerFacts } from '../contract/workers.js';
import { SessionHeartbeatAnswer, SessionHeartbeatFields } from './dto.v1.js';

/** Builds the heartbeat of a session from fields that were validated. */
export function sessionHeartbeatOf(fields: SessionHeartbeatFields): SessionHeartbeat {
  return toInside(SessionHeartbeatFields, fields);
}

export function sessionHeartbeatAnswer(result: SessionHeartbeatResult): Plain<SessionHeartbeatAnswer> {
  return toWire(SessionHeartbeatAnswer, result);
}

export function workerAnswer(worker: WorkerFacts): Plain<WorkerAnswer> {
  return toWire(WorkerAnswer, workerFacts(worker));
}
