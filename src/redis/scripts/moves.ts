import { flatReply, answer, script, whole } from './script.js';

/** The scripts that take records from one Redis to another. */
export const leaveRecurring = script('extended/leave_recurring', {
  repeatable: true,
  reply: (raw) => {
    const reply = flatReply(raw);
    return { ...answer(reply), found: reply[2], fields: reply[3] };
  },
});

export const arriveRecurring = script('extended/arrive_recurring', { repeatable: true, reply: whole });

export const endLeaving = script('extended/end_leaving', { repeatable: true, reply: whole });

export const leaveStatistics = script('maintenance/leave_statistics', {
  repeatable: true,
  reply: (raw) => {
    const reply = flatReply(raw);
    return { ...answer(reply), number: String(reply[2] ?? ''), fields: reply[3] };
  },
});

export const MOVE_SCRIPTS = [leaveRecurring, arriveRecurring, endLeaving, leaveStatistics] as const;
