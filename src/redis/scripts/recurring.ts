import { answer, flatReply, script, TIMES, whole } from './script.js';

/** The scripts of recurring jobs. Their timer is run by `fullTick`. */
export const setRecurring = script({
  name: 'extended/set_recurring',
  keys: ['meta', 'due'],
  args: [
    ...TIMES,
    ...([
      'id',
      'revision',
      'schedule',
      'every_ms',
      'first_ms',
      'offset_ms',
      'fields',
      'body',
      'needs',
      'new_slots',
      'complete',
      'jitter',
      'tzdata',
      'most_bytes',
    ] as const),
  ],
  item: [],
  repeatable: false,
  reply: whole,
});

/** Returns whether they were stored, and when the timer is due. */
export const setSlots = script({
  name: 'extended/set_slots',
  keys: ['meta', 'due'],
  args: [
    ...TIMES,
    ...(['id', 'revision', 'after', 'new_slots', 'complete', 'skipped', 'tzdata', 'replaces'] as const),
  ],
  item: [],
  repeatable: true,
  reply: whole,
});

export const runRecurring = script({
  name: 'extended/run_recurring',
  keys: ['meta', 'queues', 'due', 'waiting', 'expiries'],
  args: [...TIMES, 'id', 'quotas'],
  item: [],
  repeatable: false,
  reply: whole,
});

export const backfillRecurring = script({
  name: 'maintenance/backfill_recurring',
  keys: ['meta'],
  args: TIMES,
  item: ['id'],
  repeatable: true,
  reply: whole,
});

export const deleteRecurring = script({
  name: 'extended/delete_recurring',
  keys: ['meta'],
  args: [...TIMES, 'id'],
  item: [],
  repeatable: false,
  reply: whole,
});

export const repairTimes = script({
  name: 'extended/repair_times',
  keys: ['meta', 'due', 'workers'],
  args: [...TIMES, 'skip', 'limit'],
  item: [],
  repeatable: true,
  reply: whole,
});

export const readRecurring = script({
  name: 'queries/read_recurring',
  keys: ['meta'],
  args: [...TIMES, 'id', 'after', 'limit'],
  item: [],
  repeatable: true,
  /** Id and list of fields of each, in turn. */
  reply: (raw) => {
    const reply = flatReply(raw);
    return { ...answer(reply), hasMore: reply[2] === 1, items: reply.slice(3) };
  },
});

export const countRecurring = script({
  name: 'queries/count_recurring',
  keys: ['meta'],
  args: [...TIMES, 'after', 'limit'],
  item: [],
  repeatable: true,
  reply: whole,
});

export const RECURRING_SCRIPTS = [
  ...[setRecurring, setSlots, runRecurring, deleteRecurring, readRecurring, countRecurring, repairTimes],
  backfillRecurring,
] as const;
