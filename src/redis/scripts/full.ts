import { LIST_SCRIPTS } from './lists.js';
import { bytesAt, flatReply, integerAt, script } from './script.js';
import { answer, codes, lapsesOf, TIMES, whole } from './replies.js';

/** The scripts of the full lane (docs/adr/0018-two-lanes-in-the-store.md). */
const SPACE = ['meta', 'queues', 'due', 'waiting', 'expiries'] as const;

/** Statuses of full_put for a request whose idempotency key has its note. */
const NOTED = 3;
const NOTED_OTHERWISE = 4;

export const fullPut = script({
  name: 'full_put',
  keys: SPACE,
  args: [...TIMES, 'quotas', 'replaces', 'digest', 'fingerprint', 'ttl_ms'],
  item: ['options', 'id', 'body', 'needs'],
  repeatable: true,
  reply: (raw) => {
    const reply = flatReply(raw);
    const status = integerAt(reply, 0);
    const done = status === 0;
    return {
      ...(done ? codes(raw) : { ...answer(reply), codes: [] }),
      /** What the note of the key says; null = it was used for another request; undefined = there is none. */
      noted: status === NOTED ? bytesAt(reply, 2) : status === NOTED_OTHERWISE ? null : undefined,
      states: done ? String(reply[3]) : '',
      nextMs: done ? integerAt(reply, 4) : 0,
      /** Of the items with a code 5 or 6, in order: the encoded id of who holds the key. */
      holders: reply.slice(5) as readonly Buffer[],
    };
  },
});

export const fullLease = script({
  name: 'full_lease',
  keys: [...SPACE, 'sending'],
  args: [...TIMES, 'flag_ms', 'max_bytes', 'record'],
  item: ['names', 'count', 'ttr_ms', 'waits', 'turns', 'worker'],
  repeatable: false,
  reply: whole,
});

export const fullSettle = script({
  name: 'full_settle',
  keys: SPACE,
  args: TIMES,
  item: ['verb', 'id', 'lease', 'options', 'bytes'],
  repeatable: false,
  reply: whole,
});

export const fullTick = script({
  name: 'full_tick',
  keys: [...SPACE, 'sending'],
  args: [...TIMES, 'limit', 'quotas'],
  item: [],
  repeatable: true,
  reply: (raw) => {
    const reply = flatReply(raw);
    const late = integerAt(reply, 0) !== 0;
    const at = (index: number): number => (late ? 0 : integerAt(reply, index));
    const moved = { due: at(3), returned: at(4), died: at(5), expired: at(6) };
    /** Queues, and how many jobs were made in each. */
    const made: (readonly [queue: string, jobs: number])[] = [];
    const lapsesFrom = 9 + 2 * at(8);
    for (let i = 9; i < lapsesFrom; i += 2) made.push([String(reply[i]), integerAt(reply, i + 1)]);
    const lapses = late ? [] : lapsesOf(reply, lapsesFrom);
    return { ...answer(reply), nextDueMs: at(2), earliestMs: at(7), moved, made, lapses };
  },
});

export const fullLook = script({
  name: 'full_look',
  keys: ['meta'],
  args: TIMES,
  item: ['id'],
  repeatable: true,
  /** Per item: value, queue, score, extras, needs, users; the last three are lists. */
  reply: (raw) => {
    const reply = flatReply(raw);
    return { ...answer(reply), items: reply.slice(2) };
  },
});

export const fullControl = script({
  name: 'full_control',
  keys: ['meta', 'queues', 'due', 'waiting'],
  args: [...TIMES, 'queue', 'changes', 'event'],
  item: [],
  repeatable: true,
  reply: whole,
});

export const fullSettings = script({
  name: 'full_settings',
  keys: ['meta', 'queues'],
  args: TIMES,
  item: ['queue'],
  repeatable: true,
  /** Per item: found, fields and values; the last one is a list. */
  reply: (raw) => {
    const reply = flatReply(raw);
    return { ...answer(reply), items: reply.slice(2) };
  },
});

export const fullPurge = script({
  name: 'full_purge',
  keys: SPACE,
  args: [...TIMES, 'queue', 'state', 'limit', 'skip', 'removes'],
  item: [],
  repeatable: true,
  reply: whole,
});

export const fullDrop = script({
  name: 'full_drop',
  keys: ['meta', 'queues', 'due', 'expiries'],
  args: [...TIMES, 'queue'],
  item: [],
  repeatable: true,
  reply: whole,
});

export const fullCancel = script({
  name: 'full_cancel',
  keys: SPACE,
  args: [...TIMES, 'id', 'cascade', 'grace_ms'],
  item: [],
  repeatable: false,
  reply: whole,
});

export const fullChange = script({
  name: 'full_change',
  keys: SPACE,
  args: [...TIMES, 'id', 'options', 'data', 'adds', 'drops'],
  item: [],
  repeatable: false,
  reply: whole,
});

export const fullStates = script({
  name: 'full_states',
  keys: ['meta'],
  args: TIMES,
  item: ['id'],
  repeatable: true,
  reply: codes,
});

export const FULL_SCRIPTS = [
  fullPut,
  fullLease,
  fullSettle,
  fullTick,
  fullLook,
  fullControl,
  fullSettings,
  fullPurge,
  fullDrop,
  fullCancel,
  fullChange,
  fullStates,
  ...LIST_SCRIPTS,
] as const;
