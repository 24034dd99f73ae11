import { dueSoon } from '../due-soon.js';
import { FULL_SCRIPTS } from './full.js';
import { RECURRING_SCRIPTS } from './recurring.js';
import { answer, codes, lapsesOf, TIMES, whole } from './replies.js';
import { bytesAt, flatReply, integerAt, script } from './script.js';

export type { Answer, Codes, Raw } from './replies.js';

export const register = script({
  name: 'register',
  keys: ['meta'],
  args: ['format', 'now_ms'],
  item: [],
  repeatable: true,
  reply: Number,
});

export const unregister = script({
  name: 'unregister',
  keys: ['meta', 'queues', 'sending'],
  args: [],
  item: [],
  repeatable: true,
  /** True if the namespace is gone. */
  reply: (raw) => raw === 1,
});

export const publish = script({
  name: 'publish',
  keys: ['meta', 'queues', 'due', 'waiting', 'expiries'],
  args: [...TIMES, 'replaces', 'quotas'],
  item: ['options', 'id', 'body'],
  repeatable: true,
  reply: codes,
});

/** Stands for a verdict where the script said nothing but its status: the job to be replaced is a rich one. */
export const REPLACES_RICH = 9;

export const publishOnce = script({
  name: 'publish_once',
  keys: ['meta', 'queues', 'due', 'waiting', 'expiries'],
  args: [...TIMES, 'replaces', 'quotas', 'digest', 'fingerprint', 'ttl_ms', 'form'],
  item: ['options', 'id', 'body'],
  repeatable: true,
  reply: (raw) => {
    const reply = flatReply(raw);
    if (integerAt(reply, 0) !== 0)
      return { ...answer(reply), verdict: REPLACES_RICH, noted: Buffer.alloc(0) };
    return { ...answer(reply), verdict: integerAt(reply, 2), noted: bytesAt(reply, 3) };
  },
});

export const noted = script({
  name: 'noted',
  keys: ['meta'],
  args: [...TIMES, 'digest', 'fingerprint'],
  item: [],
  repeatable: true,
  reply: (raw) => {
    const reply = flatReply(raw);
    if (integerAt(reply, 0) !== 0) return { ...answer(reply), found: 0, noted: Buffer.alloc(0) };
    return { ...answer(reply), found: integerAt(reply, 2), noted: bytesAt(reply, 3) };
  },
});

export const countBytes = script({
  name: 'count_bytes',
  keys: ['meta'],
  args: TIMES,
  item: ['id'],
  repeatable: true,
  reply: whole,
});

export const reserve = script({
  name: 'reserve',
  keys: ['meta', 'queues', 'due', 'waiting', 'sending'],
  args: [...TIMES, 'flag_ms', 'max_bytes', 'record'],
  item: ['names', 'count', 'enough', 'ttr_ms', 'waits'],
  repeatable: false,
  reply: whole,
});

export const renew = script({
  name: 'renew',
  keys: ['meta', 'queues', 'waiting'],
  args: [...TIMES, 'flag_ms'],
  item: ['name'],
  repeatable: true,
  reply: whole,
});

export const ack = script({
  name: 'ack',
  keys: ['meta', 'queues'],
  args: TIMES,
  item: ['claim', 'size', 'ids'],
  count: (runs) =>
    runs.reduce((sum, [, size, ids]) => sum + (Buffer.isBuffer(ids) ? ids.length / Number(size) : 0), 0),
  repeatable: true,
  reply: codes,
});

export const undo = script({
  name: 'undo',
  keys: ['meta', 'waiting', 'expiries'],
  args: TIMES,
  item: ['id', 'lease'],
  repeatable: true,
  reply: codes,
});

export const recall = script({
  name: 'recall',
  keys: ['meta', 'waiting', 'expiries', 'sending'],
  args: [...TIMES, 'record', 'left_ms'],
  item: [],
  repeatable: true,
  reply: (raw) => {
    const reply = flatReply(raw);
    if (integerAt(reply, 0) !== 0) return { ...answer(reply), isFound: false, given: 0, rich: [] };
    const isFound = integerAt(reply, 2) === 1;
    return { ...answer(reply), isFound, given: integerAt(reply, 3), rich: reply.slice(4) };
  },
});

export const pump = script({
  name: 'pump',
  keys: ['meta', 'due', 'waiting', 'expiries', 'sending'],
  args: [...TIMES, 'limit'],
  item: [],
  repeatable: true,
  reply: (raw) => {
    const reply = flatReply(raw);
    const nothing = { nextDueMs: 0, earliestMs: 0, moved: null, isFullDue: false, lapses: [] };
    if (integerAt(reply, 0) !== 0) return { ...answer(reply), ...nothing };
    const moved = {
      due: integerAt(reply, 3),
      returned: integerAt(reply, 4),
      died: integerAt(reply, 5),
      expired: integerAt(reply, 6),
    };
    const times = { nextDueMs: integerAt(reply, 2), earliestMs: integerAt(reply, 7) };
    const isFullDue = integerAt(reply, 8) === 1;
    return { ...answer(reply), ...times, moved, isFullDue, lapses: lapsesOf(reply, 9) };
  },
});

export const peekQueue = script({
  name: 'peek_queue',
  keys: ['meta', 'queues'],
  args: [...TIMES, 'queue', 'skip'],
  item: [],
  repeatable: true,
  reply: whole,
});

export const peekJob = script({
  name: 'peek_job',
  keys: ['meta', 'queues'],
  args: [...TIMES, 'queue', 'id'],
  item: [],
  repeatable: true,
  reply: whole,
});

export const counts = script({
  name: 'counts',
  keys: ['meta', 'queues'],
  args: TIMES,
  item: ['queue'],
  repeatable: true,
  reply: whole,
});

export const destroy = script({
  name: 'destroy',
  keys: ['meta', 'queues'],
  args: [...TIMES, 'queue', 'limit'],
  item: [],
  repeatable: true,
  reply: whole,
});

export const deadHead = script({
  name: 'dead_head',
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
  name: 'respawn',
  keys: ['meta', 'queues', 'waiting', 'expiries'],
  args: [...TIMES, 'queue', 'limit', 'ttl_ms'],
  item: [],
  repeatable: false,
  reply: whole,
});

export const deleteDead = script({
  name: 'delete_dead',
  keys: ['meta', 'queues'],
  args: [...TIMES, 'queue', 'limit'],
  item: [],
  repeatable: false,
  reply: whole,
});

export const sweep = script({
  name: 'sweep',
  keys: ['meta', 'expiries'],
  args: [...TIMES, 'number', 'skip', 'earliest_ms', 'mark'],
  item: [],
  repeatable: true,
  reply: whole,
});

export const tidy = script({
  name: 'tidy',
  keys: ['meta', 'queues', 'due', 'expiries', 'sending'],
  args: [...TIMES, 'cursor', 'every_ms', 'stalled_ms'],
  item: [],
  repeatable: true,
  reply: whole,
});

export const importJobs = script({
  name: 'import',
  keys: ['meta', 'queues', 'due', 'waiting', 'expiries', 'imported'],
  args: [...TIMES, 'keep_ms'],
  item: ['options', 'id', 'source', 'body'],
  repeatable: true,
  reply: codes,
});

export const tell = script({
  name: 'tell',
  keys: ['meta'],
  args: [],
  item: ['event', 'queue', 'id', 'facts'],
  repeatable: false,
  reply: Number,
});

export const listen = script({
  name: 'listen',
  keys: ['listening', 'events'],
  args: ['after', 'count', 'keep_ms', 'most'],
  item: [],
  repeatable: true,
  reply: flatReply,
});

export const tally = script({
  name: 'tally',
  keys: ['meta', 'settings'],
  args: [...TIMES, 'day', 'source', 'sequence', 'default_days', 'most'],
  item: ['queue', 'tally'],
  repeatable: true,
  reply: (raw) => {
    const reply = flatReply(raw);
    /** The items whose queue has no numbers of its own: their places, from 0. */
    const others = reply.slice(2).map((_place, i) => integerAt(reply, i + 2));
    return { ...answer(reply), others };
  },
});

export const setting = script({
  name: 'setting',
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
  name: 'purge',
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
  name: 'purge_queue',
  keys: ['meta', 'queues', 'due', 'expiries'],
  args: [...TIMES, 'queue', 'kinds'],
  item: [],
  repeatable: true,
  reply: (raw) => {
    const reply = flatReply(raw);
    return { ...answer(reply), held: integerAt(reply, 0) === 0 ? bytesAt(reply, 2).toString() : '' };
  },
});

export const purgeSpace = script({
  name: 'purge_space',
  keys: ['meta', 'queues', 'settings'],
  args: [...TIMES, 'is_marker'],
  item: ['key'],
  repeatable: true,
  reply: (raw) => {
    const reply = flatReply(raw);
    return { ...answer(reply), removed: integerAt(reply, 0) === 0 ? integerAt(reply, 2) : 0 };
  },
});

export const heads = script({
  name: 'heads',
  keys: [],
  args: [],
  item: ['zset'],
  repeatable: true,
  /** NaN for an empty one. */
  reply: (raw) =>
    flatReply(raw).map((head, i, all) => (bytesAt(all, i).length > 0 ? Number(head) : Number.NaN)),
});

export const mark = script({
  name: 'mark',
  keys: ['meta'],
  args: [],
  item: [],
  repeatable: true,
  reply: () => undefined,
});

/** Every script of the engine: held against its header by a test. */
export const ENGINE_SCRIPTS = [
  register,
  unregister,
  publish,
  publishOnce,
  noted,
  countBytes,
  reserve,
  renew,
  ack,
  undo,
  recall,
  pump,
  peekQueue,
  peekJob,
  counts,
  destroy,
  deadHead,
  respawn,
  deleteDead,
  sweep,
  tidy,
  importJobs,
  tell,
  listen,
  tally,
  setting,
  purge,
  purgeQueue,
  purgeSpace,
  heads,
  dueSoon,
  mark,
  ...FULL_SCRIPTS,
  ...RECURRING_SCRIPTS,
] as const;
