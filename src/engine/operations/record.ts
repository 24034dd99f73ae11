import type { Action, OperationDetails, OperationState, UndoState } from '../../contract/operations.js';
import { stateOf } from '../../domain/job/states.js';
import type { RedisPool } from '../../redis/pool.js';
import { decodeId } from '../core/ids.js';

/** Fields of a record that are shown, or that say who started the operation. */
const RECORD_FIELDS = [
  ...(['action', 'shown', 'dry', 'rate', 'state', 'reason', 'matched', 'done', 'failed'] as const),
  ...(['skipped', 'refusals', 'looked', 'to_look', 'samples', 'created', 'ended', 'next'] as const),
  ...(['by', 'hint', 'verbs', 'patterns', 'filter', 'name', 'queue'] as const),
  ...(['undo', 'undo_ms', 'undo_jobs', 'undo_done', 'undo_failed', 'undo_refusals'] as const),
  ...(['undo_partly', 'undo_reason', 'undo_by', 'undo_hint', 'undo_verbs', 'undo_patterns'] as const),
] as const;
type RecordField = (typeof RECORD_FIELDS)[number];
/** A record as it is stored. */
export type StoredOperation = Readonly<Partial<Record<RecordField, Buffer>>>;

/** Who started an operation, and with which rights. */
export interface Grant {
  /** The digest of the token, or the account behind `account:`. */
  readonly by: string;
  /** Its first characters, or the name of the account, to be shown. */
  readonly hint: string;
  /** Permissions that the operation needs, sorted. */
  readonly verbs: readonly string[];
  /** Patterns of the queues that the token is for; null = all. */
  readonly patterns: readonly string[] | null;
}

/** Why an operation was stopped, as a sentence. */
const MESSAGES: Readonly<Record<string, string>> = {
  stopped: 'It was stopped by a call.',
  token_revoked: 'The token that started it was deleted, or has expired.',
  rights_changed: 'The rights of the token or account that started it have changed.',
  pool_moving: 'The pool is being moved to another Redis.',
  store_full: 'Redis is full.',
};

/** Why it cannot be undone any more, or its undo was stopped. */
const UNDO_MESSAGES: Readonly<Record<string, string>> = {
  ...MESSAGES,
  token_revoked: 'The token that began to undo it was deleted, or has expired.',
  rights_changed: 'The rights of the token or account that began to undo it have changed.',
  expired: 'Its undo_ms is over.',
  dropped: 'Redis was full, and what it kept to be undone was removed.',
};

/** The record of an operation; null if there is none. @throws {QueueError} an error of the store */
export async function readOperation(
  pool: Pick<RedisPool, 'keys' | 'readBytes'>,
  namespace: string,
  id: string,
): Promise<StoredOperation | null> {
  const reply = await pool.readBytes('HMGET', pool.keys.operation(namespace, id), ...RECORD_FIELDS);
  if (!Array.isArray(reply)) return null;
  const stored: Partial<Record<RecordField, Buffer>> = {};
  for (const [i, field] of RECORD_FIELDS.entries()) {
    const value: unknown = (reply as unknown[])[i];
    if (Buffer.isBuffer(value)) stored[field] = value;
  }
  return stored.state === undefined ? null : stored;
}

/** Who started an operation; null = a program without a server, which may do everything. */
export function grantOf({ by, hint, verbs, patterns }: StoredOperation): Grant | null {
  if (textOf(by) === '') return null;
  const queues = textOf(patterns);
  return {
    by: textOf(by),
    hint: textOf(hint),
    verbs: textOf(verbs).split(','),
    patterns: queues === '' ? null : queues.split(','),
  };
}

/** Whether it is being undone. */
export function isUndone({ undo }: StoredOperation): boolean {
  return textOf(undo) === 'running';
}

/** Who began to undo it. */
export function undoGrantOf(stored: StoredOperation): Grant | null {
  const { undo_by: by, undo_hint: hint, undo_verbs: verbs, undo_patterns: patterns } = stored;
  return grantOf({
    ...(by && { by }),
    ...(hint && { hint }),
    ...(verbs && { verbs }),
    ...(patterns && { patterns }),
  });
}

/** An operation as answers show it. */
export function detailsOf(id: string, stored: StoredOperation): OperationDetails {
  const shown = JSON.parse(textOf(stored.shown)) as Pick<OperationDetails, 'filter' | 'to' | 'set'>;
  const [state, reason] = [textOf(stored.state) as OperationState, textOf(stored.reason)];
  const rate = numberOf(stored.rate);
  return {
    id,
    action: textOf(stored.action) as Action,
    ...shown,
    dryRun: textOf(stored.dry) === '1',
    ratePerS: rate === 0 ? null : rate,
    state,
    reason: reason === '' ? null : reason,
    message: reason === '' ? null : (MESSAGES[reason] ?? `It was stopped: ${reason}.`),
    ...countsOf(stored),
    refusals: refusalsOf(stored.refusals),
    toLook: textOf(stored.to_look) === '' ? null : numberOf(stored.to_look),
    samples: samplesOf(stored.samples),
    createdAtMs: numberOf(stored.created),
    createdBy: textOf(stored.hint) === '' ? null : textOf(stored.hint),
    endedAtMs: stored.ended ? numberOf(stored.ended) : null,
    nextAtMs: rate > 0 && state === 'running' ? numberOf(stored.next) : null,
    undo: undoOf(stored),
  };
}

function undoOf(stored: StoredOperation): OperationDetails['undo'] {
  if (stored.undo === undefined) return null;
  const state = textOf(stored.undo) as UndoState;
  const key = state === 'stopped' ? textOf(stored.undo_reason) : state;
  return {
    state,
    endsAtMs: stored.ended ? numberOf(stored.ended) + numberOf(stored.undo_ms) : null,
    jobs: numberOf(stored.undo_jobs),
    restored: numberOf(stored.undo_done),
    failed: numberOf(stored.undo_failed),
    refusals: refusalsOf(stored.undo_refusals),
    incomplete: refusalsOf(stored.undo_partly),
    message: UNDO_MESSAGES[key] ?? null,
  };
}

function countsOf({ matched, done, failed, skipped, looked }: StoredOperation) {
  return {
    matched: numberOf(matched),
    done: numberOf(done),
    failed: numberOf(failed),
    skipped: numberOf(skipped),
    looked: numberOf(looked),
  };
}

function refusalsOf(json: Buffer | undefined): { readonly reason: string; readonly jobs: number }[] {
  const counts = Object.entries(JSON.parse(textOf(json) || '{}') as Record<string, number>);
  return counts.map(([reason, jobs]) => ({ reason, jobs })).sort((a, b) => (a.reason < b.reason ? -1 : 1));
}

/** For each job: length and bytes of its id, its state, length and bytes of its queue. */
function samplesOf(bytes: Buffer = Buffer.alloc(0)): OperationDetails['samples'][number][] {
  const samples: OperationDetails['samples'][number][] = [];
  for (let at = 0; at < bytes.length;) {
    const idEnd = at + 1 + (bytes[at] ?? 0);
    const [state = 0, length = 0] = bytes.subarray(idEnd, idEnd + 2);
    const end = idEnd + 2 + length;
    const queue = bytes.subarray(idEnd + 2, end).toString();
    samples.push({ id: decodeId(bytes.subarray(at + 1, idEnd)), queue, state: stateOf(state) });
    at = end;
  }
  return samples;
}

/** A field as text; '' if it is not there. */
export function textOf(value: Buffer | undefined): string {
  return value?.toString() ?? '';
}

function numberOf(value: Buffer | undefined): number {
  return Number(textOf(value));
}
