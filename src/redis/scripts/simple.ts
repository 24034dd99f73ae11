import { dueSoon } from './due-soon.js';
import { EXTENDED_SCRIPTS } from './extended.js';
import { MOVE_SCRIPTS } from './moves.js';
import { RECURRING_SCRIPTS } from './recurring.js';
import { TARGET_SCRIPTS } from './targets.js';
import {
  answer,
  bytesAt,
  codes,
  codesAndTexts,
  expiredLeasesOf,
  flatReply,
  integerAt,
  script,
  TIMES,
  whole,
} from './script.js';

export const register = script({
  name: 'maintenance/register',
  keys: ['meta'],
  args: ['format', 'now_ms'],
  item: [],
  repeatable: true,
  reply: Number,
});

export const unregister = script({
  name: 'maintenance/unregister',
  keys: ['meta', 'queues', 'sending'],
  args: [],
  item: [],
  repeatable: true,
  /** True if the namespace is gone. */
  reply: (raw) => raw === 1,
});

export const publish = script({
  name: 'simple/publish',
  keys: ['meta', 'queues', 'due', 'waiting', 'expiries'],
  args: [...TIMES, 'replaces', 'quotas', 'keyed', 'sizes'],
  item: ['options', 'id', 'body'],
  repeatable: true,
  /**
   * Texts: for each call whose idempotency key has a record of the same request, in order, what the record says; then for each call that a
   * quota refused how much there was.
   */
  reply: codesAndTexts,
});

export const readIdempotencyRecord = script({
  name: 'simple/read_idempotency_record',
  keys: ['meta'],
  args: [...TIMES, 'digest', 'fingerprint'],
  item: [],
  repeatable: true,
  reply: (raw) => {
    const reply = flatReply(raw);
    if (integerAt(reply, 0) !== 0)
      return { ...answer(reply), found: 0, readIdempotencyRecord: Buffer.alloc(0) };
    return { ...answer(reply), found: integerAt(reply, 2), readIdempotencyRecord: bytesAt(reply, 3) };
  },
});

export const backfillQuota = script({
  name: 'maintenance/backfill_quota',
  keys: ['meta'],
  args: TIMES,
  item: ['id'],
  repeatable: true,
  reply: whole,
});

export const lease = script({
  name: 'simple/lease',
  keys: ['meta', 'queues', 'due', 'waiting', 'sending'],
  args: [...TIMES, 'flag_ms', 'max_bytes', 'record'],
  item: ['names', 'count', 'enough', 'ttr_ms', 'waits'],
  repeatable: /* guard: uncertain-lease-not-repeated */ false,
  reply: whole,
});

export const registerWaiters = script({
  name: 'simple/register_waiters',
  keys: ['meta', 'queues', 'waiting'],
  args: [...TIMES, 'flag_ms'],
  item: ['name'],
  repeatable: true,
  reply: whole,
});

export const ack = script({
  name: 'simple/ack',
  keys: ['meta', 'queues'],
  args: TIMES,
  item: ['claim', 'size', 'ids'],
  count: (runs) =>
    runs.reduce((sum, [, size, ids]) => sum + (Buffer.isBuffer(ids) ? ids.length / Number(size) : 0), 0),
  repeatable: true,
  /** Texts: for each acknowledgement that names no queue, in order, that of its job; empty = there is none. */
  reply: codesAndTexts,
});

export const undo = script({
  name: 'simple/undo',
  keys: ['meta', 'waiting', 'expiries'],
  args: TIMES,
  item: ['id', 'lease'],
  repeatable: true,
  reply: codes,
});

export const deliver = script({
  name: 'simple/deliver',
  keys: ['meta', 'sending'],
  args: TIMES,
  item: ['record', 'id', 'lease'],
  repeatable: true,
  reply: whole,
});

export const reclaimUndelivered = script({
  name: 'simple/reclaim_undelivered',
  keys: ['meta', 'waiting', 'expiries', 'sending'],
  args: [...TIMES, 'record', 'left_ms'],
  item: [],
  repeatable: true,
  reply: (raw) => {
    const reply = flatReply(raw);
    if (integerAt(reply, 0) !== 0) return { ...answer(reply), isFound: false, given: 0, extendedLeases: [] };
    const isFound = integerAt(reply, 2) === 1;
    return { ...answer(reply), isFound, given: integerAt(reply, 3), extendedLeases: reply.slice(4) };
  },
});

export const pump = script({
  name: 'maintenance/pump',
  keys: ['meta', 'due', 'waiting', 'expiries', 'sending', 'queues'],
  args: [...TIMES, 'limit'],
  item: [],
  repeatable: true,
  reply: (raw) => {
    const reply = flatReply(raw);
    const nothing = { nextDueMs: 0, earliestMs: 0, moved: null, isExtendedDue: false, expiredLeases: [] };
    if (integerAt(reply, 0) !== 0) return { ...answer(reply), ...nothing };
    const moved = {
      due: integerAt(reply, 3),
      returned: integerAt(reply, 4),
      died: integerAt(reply, 5),
      expired: integerAt(reply, 6),
    };
    const times = { nextDueMs: integerAt(reply, 2), earliestMs: integerAt(reply, 7) };
    const isExtendedDue = integerAt(reply, 8) === 1;
    return { ...answer(reply), ...times, moved, isExtendedDue, expiredLeases: expiredLeasesOf(reply, 9) };
  },
});

export const peekQueue = script({
  name: 'simple/peek_queue',
  keys: ['meta', 'queues'],
  args: [...TIMES, 'queue', 'skip'],
  item: [],
  repeatable: true,
  reply: whole,
});

export const peekJob = script({
  name: 'simple/peek_job',
  keys: ['meta', 'queues'],
  args: [...TIMES, 'queue', 'id'],
  item: [],
  repeatable: true,
  reply: whole,
});

export const counts = script({
  name: 'simple/count_jobs',
  keys: ['meta', 'queues'],
  args: TIMES,
  item: ['queue'],
  repeatable: true,
  reply: whole,
});

export const destroy = script({
  name: 'simple/destroy',
  keys: ['meta', 'queues'],
  args: [...TIMES, 'queue', 'limit'],
  item: [],
  repeatable: true,
  reply: whole,
});

export const deadHead = script({
  name: 'simple/dead_head',
  keys: ['meta', 'queues'],
  args: [...TIMES, 'queue'],
  item: [],
  repeatable: true,
  reply: (raw) => {
    const reply = flatReply(raw);
    if (integerAt(reply, 0) !== 0) return { ...answer(reply), id: Buffer.alloc(0), size: 0 };
    return { ...answer(reply), id: bytesAt(reply, 2), size: integerAt(reply, 3) };
  },
});

export const respawn = script({
  name: 'simple/respawn',
  keys: ['meta', 'queues', 'waiting', 'expiries'],
  args: [...TIMES, 'queue', 'limit', 'ttl_ms'],
  item: [],
  repeatable: false,
  reply: whole,
});

export const deleteDead = script({
  name: 'simple/delete_dead',
  keys: ['meta', 'queues'],
  args: [...TIMES, 'queue', 'limit'],
  item: [],
  repeatable: false,
  reply: whole,
});

export const sweep = script({
  name: 'maintenance/sweep',
  keys: ['meta', 'expiries'],
  args: [...TIMES, 'number', 'skip', 'earliest_ms', 'mark'],
  item: [],
  repeatable: true,
  reply: whole,
});

export const recount = script({
  name: 'maintenance/recount',
  keys: ['meta'],
  args: [...TIMES, 'number'],
  item: [],
  repeatable: true,
  reply: whole,
});

export const tidy = script({
  name: 'maintenance/tidy',
  keys: ['meta', 'queues', 'due', 'expiries', 'sending'],
  args: [...TIMES, 'cursor', 'every_ms', 'stalled_ms'],
  item: [],
  repeatable: true,
  reply: whole,
});

export const importJobs = script({
  name: 'maintenance/import',
  keys: ['meta', 'queues', 'due', 'waiting', 'expiries', 'imported'],
  args: [...TIMES, 'keep_ms'],
  item: ['options', 'id', 'source', 'body'],
  repeatable: true,
  reply: codes,
});

export const writeEvents = script({
  name: 'simple/write_events',
  keys: ['meta'],
  args: ['clock_ms', 'since_ms'],
  item: ['event', 'queue', 'id', 'facts'],
  repeatable: false,
  reply: Number,
});

export const readEvents = script({
  name: 'simple/read_events',
  keys: ['listening', 'events'],
  args: ['after', 'count', 'keep_ms', 'most'],
  item: [],
  repeatable: true,
  reply: flatReply,
});

export const addStatistics = script({
  name: 'maintenance/add_statistics',
  keys: ['meta', 'settings'],
  args: [...TIMES, 'day', 'source', 'sequence', 'default_days', 'most', 'since_ms'],
  item: ['queue', 'tally'],
  repeatable: true,
  reply: (raw) => {
    const reply = flatReply(raw);
    /** Places, from 0, of the items whose queue has no numbers of its own. */
    const others = reply.slice(2).map((_place, i) => integerAt(reply, i + 2));
    return { ...answer(reply), others };
  },
});

export const changeSetting = script({
  name: 'maintenance/change_setting',
  keys: ['meta', 'settings'],
  args: [...TIMES, 'key', 'value', 'history_days'],
  item: [],
  repeatable: true,
  reply: (raw) => {
    const reply = flatReply(raw);
    return { ...answer(reply), existed: integerAt(reply, 0) === 0 && integerAt(reply, 2) === 1 };
  },
});

export const purge = script({
  name: 'maintenance/purge_index',
  keys: ['meta', 'queues'],
  args: [...TIMES, 'queue', 'kind', 'limit'],
  item: [],
  repeatable: true,
  reply: (raw) => {
    const reply = flatReply(raw);
    const at = (index: number): number => (integerAt(reply, 0) === 0 ? integerAt(reply, index) : 0);
    return { ...answer(reply), looked: at(2), removed: at(3) };
  },
});

export const purgeQueue = script({
  name: 'maintenance/purge_queue',
  keys: ['meta', 'queues', 'due', 'expiries'],
  args: [...TIMES, 'queue', 'kinds'],
  item: [],
  repeatable: true,
  reply: (raw) => {
    const reply = flatReply(raw);
    return { ...answer(reply), held: integerAt(reply, 0) === 0 ? bytesAt(reply, 2).toString() : '' };
  },
});

export const purgeNamespace = script({
  name: 'maintenance/purge_namespace',
  keys: ['meta', 'queues'],
  args: [...TIMES, 'is_marker'],
  item: ['key'],
  repeatable: true,
  reply: (raw) => {
    const reply = flatReply(raw);
    return { ...answer(reply), removed: integerAt(reply, 0) === 0 ? integerAt(reply, 2) : 0 };
  },
});

export const lowestScores = script({
  name: 'maintenance/lowest_scores',
  keys: [],
  args: [],
  item: ['zset'],
  repeatable: true,
  /** NaN for an empty zset. */
  reply: (raw) =>
    flatReply(raw).map((head, i, all) => (bytesAt(all, i).length > 0 ? Number(head) : Number.NaN)),
});

export const markConnection = script({
  name: 'maintenance/mark_connection',
  keys: ['meta'],
  args: [],
  item: [],
  repeatable: true,
  reply: () => undefined,
});

/** Sent before a connection is ready, without the deadline of other scripts. */
export const beginRun = script({
  name: 'maintenance/begin_run',
  keys: ['run', 'namespaces'],
  args: ['identity', 'jump', 'known'],
  item: [],
  repeatable: true,
  reply: (raw) => {
    const reply = flatReply(raw);
    return { floor: integerAt(reply, 0), beganMs: integerAt(reply, 1) };
  },
});

/** Sent by EVAL, also before a connection is ready. */
export const checkRights = script({
  name: 'maintenance/check_rights',
  keys: [],
  args: [],
  item: ['command'],
  repeatable: true,
  reply: (raw) => (Array.isArray(raw) ? raw.map(String) : []),
});

/** Every script of the engine. A test compares each with its header. */
export const ENGINE_SCRIPTS = [
  register,
  unregister,
  publish,
  readIdempotencyRecord,
  backfillQuota,
  lease,
  registerWaiters,
  ack,
  undo,
  deliver,
  reclaimUndelivered,
  pump,
  peekQueue,
  peekJob,
  counts,
  destroy,
  deadHead,
  respawn,
  deleteDead,
  sweep,
  recount,
  tidy,
  importJobs,
  writeEvents,
  readEvents,
  addStatistics,
  changeSetting,
  ...TARGET_SCRIPTS,
  purge,
  purgeQueue,
  purgeNamespace,
  lowestScores,
  dueSoon,
  markConnection,
  beginRun,
  checkRights,
  ...EXTENDED_SCRIPTS,
  ...RECURRING_SCRIPTS,
  ...MOVE_SCRIPTS,
] as const;
