import { flatReply, answer, script, TIMES, whole } from './script.js';

/** The scripts that take records from one Redis to another. */
export const leaveRecurring = script({
  name: 'extended/leave_recurring',
  keys: ['meta', 'queues'],
  args: [...TIMES, 'id', 'handover', 'refused'],
  item: [],
  repeatable: true,
  reply: (raw) => {
    const reply = flatReply(raw);
    return { ...answer(reply), found: reply[2], fields: reply[3] };
  },
});

export const arriveRecurring = script({
  name: 'extended/arrive_recurring',
  keys: ['meta', 'due'],
  args: [...TIMES, 'id', 'handover'],
  item: ['field', 'value'],
  repeatable: true,
  reply: whole,
});

export const endLeaving = script({
  name: 'extended/end_leaving',
  keys: ['meta', 'due'],
  args: [...TIMES, 'id', 'handover', 'verb'],
  item: [],
  repeatable: true,
  reply: whole,
});

export const leaveStatistics = script({
  name: 'maintenance/leave_statistics',
  keys: ['meta'],
  args: [...TIMES, 'day', 'verb', 'number'],
  item: [],
  repeatable: true,
  reply: (raw) => {
    const reply = flatReply(raw);
    return { ...answer(reply), number: String(reply[2] ?? ''), fields: reply[3] };
  },
});

export const MOVE_SCRIPTS = [leaveRecurring, arriveRecurring, endLeaving, leaveStatistics] as const;
