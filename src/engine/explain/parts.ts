import { stateOf, type JobState } from '../../domain/job/states.js';
import type { TypeSeen } from '../../contract/queue-settings.js';
import { textsOf } from '../core/flat-lists.js';
import { decodeId } from '../core/ids.js';
import { openUntilOf, readBreaker, readTarget, type Target } from '../queues/stored-targets.js';
import { settingsIn } from '../queues/stored-settings.js';
import type {
  BreakerSeen,
  DependencySeen,
  HolderSeen,
  JobEnd,
  JobReasons,
  LeaseRequestSeen,
  QueueReasons,
  TargetSeen,
} from './reasons.js';

/* Parts of the replies of the scripts queries/explain_… */

export type Parts = ReadonlyMap<string, unknown>;

/** How the events of an end are called as causes. */
const OUTCOMES: Readonly<Record<string, JobEnd['outcome']>> = {
  acked: 'done',
  cancelled: 'cancelled',
  expired: 'expired',
  replaced: 'replaced',
  deleted: 'deleted',
};

/** What decides whether a queue gives jobs, as far as Redis knows it. */
export function queueOf(queue: string, parts: Parts, nowMs: number, exists: boolean): QueueReasons {
  const atMs = timeOf(parts.get('last_request_ms'));
  const [leased = 0, withinMs = 0] = listOf(parts.get('leased_lately')).map(Number);
  return {
    nowMs,
    queue,
    exists,
    isStoreFull: textOf(parts.get('full')) === '1',
    settings: settingsIn(textsOf(parts.get('settings'))),
    counts: countsOf(listOf(parts.get('counts')).map(textOf)),
    rateAtMs: timeOf(parts.get('rate_ms')),
    pace: { leased, withinMs },
    lastRequest: atMs === null ? null : requestOf(queue, atMs, parts.get('last_requester')),
    isAwaited: Number(textOf(parts.get('waits_until_ms'))) > nowMs,
    requests: groupsOf(listOf(parts.get('requests')), 3).map(([name, at, worker]) =>
      requestOf(textOf(name), Number(textOf(at)), worker),
    ),
    target: targetOf(listOf(parts.get('target')).map(textOf), nowMs),
    ...typesOf(parts, nowMs),
    readyOfPausedKeys: Number(textOf(parts.get('ready_of_paused_keys'))),
  };
}

function typesOf(parts: Parts, nowMs: number): Pick<QueueReasons, 'isByType' | 'types' | 'hasMoreTypes'> {
  const types = groupsOf(listOf(parts.get('types')), 5).map(
    ([type, ready, since, requestedAt, waitsUntil]): TypeSeen => ({
      type: textOf(type) || null,
      ready: Number(textOf(ready)),
      firstReadyAtMs: timeOf(since),
      lastRequestAtMs: Number(textOf(waitsUntil)) > nowMs ? nowMs : timeOf(requestedAt),
    }),
  );
  const named = types.filter(({ type }) => type !== null).length;
  return {
    isByType: textOf(parts.get('by_type')) === '1',
    types,
    hasMoreTypes: Number(textOf(parts.get('types_count'))) > named,
  };
}

function countsOf(counts: readonly string[]): QueueReasons['counts'] {
  const [ready = 0, scheduled = 0, blocked = 0, held = 0, leased = 0] = counts.map(Number);
  return { ready, scheduled, blocked, held, leased, nextDueMs: timeOf(counts[5]) };
}

function requestOf(queue: string, atMs: number, worker: unknown): LeaseRequestSeen {
  return { queue, atMs, worker: textOf(worker) || null };
}

function targetOf([name, stored = '', breaker = '']: readonly string[], nowMs: number): TargetSeen | null {
  if (name === undefined) return null;
  const target = storedTargetOf(stored);
  return {
    name,
    exists: target !== null,
    pausedAtMs: target?.pausedAtMs ?? null,
    pauseReason: target?.pauseReason ?? null,
    breaker: openBreakerOf(breaker, target, nowMs),
  };
}

function storedTargetOf(stored: string): Target | null {
  return stored === '' ? null : readTarget(stored).target;
}

/** Null: it is closed, or a job tries the target now. */
function openBreakerOf(text: string, target: Target | null, nowMs: number): BreakerSeen | null {
  const breaker = breakerOf(text, target, nowMs);
  return breaker !== null && breaker.openUntilMs > nowMs ? breaker : null;
}

function breakerOf(text: string, target: Target | null, nowMs: number): BreakerSeen | null {
  const breaker = readBreaker(text || undefined);
  if (breaker === null || !target?.breakerSettings) return null;
  return {
    openUntilMs: openUntilOf(breaker, target.breakerSettings, nowMs),
    lastAnswer: breaker.lastAnswer ?? null,
  };
}

/** The origin for which a job is held, with its breaker. @param target as in `targetOf` */
export function originOf(
  [url, breaker = '']: readonly string[],
  [, stored = '']: readonly string[],
  nowMs: number,
): JobReasons['origin'] {
  if (url === undefined) return null;
  return {
    url,
    breaker: breakerOf(breaker, storedTargetOf(stored), nowMs) ?? { openUntilMs: nowMs, lastAnswer: null },
  };
}

export function frontOf(front: readonly unknown[]): JobReasons['front'] {
  if (front.length === 0) return null;
  const [urgent = 0, older = 0, isExact, isOfType] = front.map(Number);
  return { urgent, older, isExact: isExact === 1, isOfType: isOfType === 1 };
}

export function turnOf([keysBefore, key]: readonly unknown[]): JobReasons['turn'] {
  if (keysBefore === undefined) return null;
  return { keysBefore: Number(keysBefore), key: textOf(key) || null };
}

export function slotsOf([taken, ...holders]: readonly unknown[]): JobReasons['slots'] {
  if (taken === undefined) return null;
  return { taken: Number(textOf(taken)), holders: groupsOf(holders, 4).map(holderOf) };
}

function holderOf([id, state, worker, leasedMs]: readonly unknown[]): HolderSeen {
  return {
    id: decodeId(id as Buffer),
    state: stateIn(state),
    worker: textOf(worker) || null,
    leasedAtMs: timeOf(leasedMs),
  };
}

export function dependenciesOf(parts: readonly unknown[]): DependencySeen[] {
  return groupsOf(parts, 3).map(([id, state, queue]) => ({
    id: decodeId(id as Buffer),
    state: stateIn(state),
    queue: textOf(queue) || null,
  }));
}

export function deadDependenciesOf(parts: readonly unknown[]): JobReasons['deadDependencies'] {
  return groupsOf(parts, 2).map(([id, queue]) => ({ id: decodeId(id as Buffer), queue: textOf(queue) }));
}

/** How a job ended that is gone, if it was tracked. */
export function endOf(id: string, parts: Parts, nowMs: number): JobEnd | null {
  const [gone, how = '', queue = ''] = listOf(parts.get('end')).map(textOf);
  const [outcome, goneAtMs] = [OUTCOMES[how], timeOf(gone)];
  return outcome === undefined || goneAtMs === null ? null : { id, queue, nowMs, goneAtMs, outcome };
}

/** A state by its digit; 0 = no such job is known. */
function stateIn(digit: unknown): JobState | null {
  const number = Number(textOf(digit));
  return number > 0 ? stateOf(number) : null;
}

function groupsOf(list: readonly unknown[], size: number): (readonly unknown[])[] {
  const count = Math.floor(list.length / size);
  return Array.from({ length: count }, (_, i) => list.slice(i * size, (i + 1) * size));
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as unknown[]) : [];
}

export function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return Buffer.isBuffer(value) || typeof value === 'number' ? value.toString() : '';
}

/** A time, Unix ms; null for 0 and what is missing. */
export function timeOf(value: unknown): number | null {
  return Math.ceil(Number(textOf(value))) || null;
}
