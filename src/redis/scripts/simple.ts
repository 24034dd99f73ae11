import { dueSoon } from './due-soon.js';
import { EXTENDED_SCRIPTS } from './extended.js';
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
  whole,
} from './script.js';
import { isOfRepeat } from '../lost-replies.js';

export const register = script('maintenance/register', { repeatable: true, reply: Number });

export const unregister = script('maintenance/unregister', {
  repeatable: true,
  /** True if the namespace is gone. */
  reply: (raw) => raw === 1,
});

export const publish = script('simple/publish', {
  repeatable: true,
  /**
   * Texts: for each call whose idempotency key has a record of the same request, in order, what the record says; then for each call that a
   * quota refused how much there was.
   */
  reply: (raw) => ({ ...codesAndTexts(raw), isOfRepeat: isOfRepeat(raw) }),
});

export const readIdempotencyRecord = script('simple/read_idempotency_record', {
  repeatable: true,
  reply: (raw) => {
    const reply = flatReply(raw);
    if (integerAt(reply, 0) !== 0)
      return { ...answer(reply), found: 0, readIdempotencyRecord: Buffer.alloc(0) };
    return { ...answer(reply), found: integerAt(reply, 2), readIdempotencyRecord: bytesAt(reply, 3) };
  },
});

export const backfillQuota = script('maintenance/backfill_quota', { repeatable: true, reply: whole });

export const lease = script('simple/lease', {
  repeatable: /* guard: uncertain-lease-not-repeated */ false,
  reply: whole,
});

export const registerWaiters = script('simple/register_waiters', { repeatable: true, reply: whole });

export const ack = script('simple/ack', {
  count: (runs) =>
    runs.reduce((sum, [, size, ids]) => sum + (Buffer.isBuffer(ids) ? ids.length / Number(size) : 0), 0),
  repeatable: true,
  /** Texts: for each acknowledgement that names no queue, in order, that of its job; empty = there is none. */
  reply: codesAndTexts,
});

export const undo = script('simple/undo', { repeatable: true, reply: codes });

export const deliver = script('simple/deliver', { repeatable: true, reply: whole });

export const reclaimUndelivered = script('simple/reclaim_undelivered', {
  repeatable: true,
  reply: (raw) => {
    const reply = flatReply(raw);
    if (integerAt(reply, 0) !== 0) return { ...answer(reply), isFound: false, given: 0, extendedLeases: [] };
    const isFound = integerAt(reply, 2) === 1;
    return { ...answer(reply), isFound, given: integerAt(reply, 3), extendedLeases: reply.slice(4) };
  },
});

export const pump = script('maintenance/pump', {
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

export const peekQueue = script('simple/peek_queue', { repeatable: true, reply: whole });

export const peekJob = script('simple/peek_job', { repeatable: true, reply: whole });

export const counts = script('simple/count_jobs', { repeatable: true, reply: whole });

export const destroy = script('simple/destroy', { repeatable: true, reply: whole });

export const deadHead = script('simple/dead_head', {
  repeatable: true,
  reply: (raw) => {
    const reply = flatReply(raw);
    if (integerAt(reply, 0) !== 0) return { ...answer(reply), id: Buffer.alloc(0), size: 0 };
    return { ...answer(reply), id: bytesAt(reply, 2), size: integerAt(reply, 3) };
  },
});

export const respawn = script('simple/respawn', { repeatable: false, reply: whole });

export const deleteDead = script('simple/delete_dead', { repeatable: false, reply: whole });

export const sweep = script('maintenance/sweep', { repeatable: true, reply: whole });

export const recount = script('maintenance/recount', { repeatable: true, reply: whole });

export const tidy = script('maintenance/tidy', { repeatable: true, reply: whole });

export const importJobs = script('maintenance/import', { repeatable: true, reply: codes });

export const writeEvents = script('simple/write_events', { repeatable: false, reply: Number });

export const readEvents = script('simple/read_events', { repeatable: true, reply: flatReply });

export const addStatistics = script('maintenance/add_statistics', {
  repeatable: true,
  reply: (raw) => {
    const reply = flatReply(raw);
    /** Places, from 0, of the items whose queue has no numbers of its own. */
    const others = reply.slice(2).map((_place, i) => integerAt(reply, i + 2));
    return { ...answer(reply), others };
  },
});

/** Takes statistics to another Redis. */
export const leaveStatistics = script('maintenance/leave_statistics', {
  repeatable: true,
  reply: (raw) => {
    const reply = flatReply(raw);
    return { ...answer(reply), number: String(reply[2] ?? ''), fields: reply[3] };
  },
});

export const recordLeaseRequests = script('maintenance/record_lease_requests', {
  repeatable: true,
  reply: whole,
});

/** Adds what a server has counted of queues to their activity. */
export const addActivity = script('maintenance/add_activity', { repeatable: false, reply: whole });

/** Writes samples of queues and points of their history. */
export const writeSamples = script('maintenance/write_samples', {
  repeatable: false,
  reply: (raw) => {
    const reply = flatReply(raw);
    const isDone = integerAt(reply, 0) === 0;
    const count = isDone ? (reply.length - 2) / 3 : 0;
    /** Of each item: 1 written, 0 another sample is there, 2 purged since. Bytes: how many more. */
    const written = Array.from({ length: count }, (_, i) => ({
      code: integerAt(reply, 2 + i * 3),
      recentBytes: integerAt(reply, 3 + i * 3),
      pastBytes: integerAt(reply, 4 + i * 3),
    }));
    return { ...answer(reply), written };
  },
});

export const changeSetting = script('maintenance/change_setting', {
  repeatable: true,
  reply: (raw) => {
    const reply = flatReply(raw);
    return { ...answer(reply), existed: integerAt(reply, 0) === 0 && integerAt(reply, 2) === 1 };
  },
});

export const changeVariable = script('maintenance/change_variable', {
  repeatable: true,
  reply: (raw) => {
    const reply = flatReply(raw);
    return { ...answer(reply), code: integerAt(reply, 2) };
  },
});

export const purge = script('maintenance/purge_index', {
  repeatable: true,
  reply: (raw) => {
    const reply = flatReply(raw);
    const at = (index: number): number => (integerAt(reply, 0) === 0 ? integerAt(reply, index) : 0);
    return { ...answer(reply), looked: at(2), removed: at(3) };
  },
});

export const purgeQueue = script('maintenance/purge_queue', {
  repeatable: true,
  reply: (raw) => {
    const reply = flatReply(raw);
    return { ...answer(reply), held: integerAt(reply, 0) === 0 ? bytesAt(reply, 2).toString() : '' };
  },
});

export const purgeNamespace = script('maintenance/purge_namespace', {
  repeatable: true,
  reply: (raw) => {
    const reply = flatReply(raw);
    return { ...answer(reply), removed: integerAt(reply, 0) === 0 ? integerAt(reply, 2) : 0 };
  },
});

export const lowestScores = script('maintenance/lowest_scores', {
  repeatable: true,
  /** NaN for an empty zset. */
  reply: (raw) =>
    flatReply(raw).map((head, i, all) => (bytesAt(all, i).length > 0 ? Number(head) : Number.NaN)),
});

export const markConnection = script('maintenance/mark_connection', {
  repeatable: true,
  reply: () => undefined,
});

/** Sent before a connection is ready, without the deadline of other scripts. */
export const beginRun = script('maintenance/begin_run', {
  repeatable: true,
  reply: (raw) => {
    const reply = flatReply(raw);
    return { floor: integerAt(reply, 0), beganMs: integerAt(reply, 1) };
  },
});

/** Sent by EVAL, without the deadline of other scripts. */
export const countProbe = script('maintenance/count_probe', {
  repeatable: true,
  reply: (raw) => {
    const reply = flatReply(raw);
    return { isLost: integerAt(reply, 0) === 1, count: integerAt(reply, 1), lastMs: integerAt(reply, 2) };
  },
});

/** Sent by EVAL, also before a connection is ready. */
export const checkRights = script('maintenance/check_rights', {
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
  leaveStatistics,
  recordLeaseRequests,
  addActivity,
  writeSamples,
  changeSetting,
  changeVariable,
  ...TARGET_SCRIPTS,
  purge,
  purgeQueue,
  purgeNamespace,
  lowestScores,
  dueSoon,
  markConnection,
  beginRun,
  countProbe,
  checkRights,
  ...EXTENDED_SCRIPTS,
] as const;
