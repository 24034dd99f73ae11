import { answer, flatReply, script, whole } from './script.js';

/* The scripts of recurring jobs. `runTimers` runs their timer. */

export const setRecurring = script('extended/set_recurring', { repeatable: false, reply: whole });

/** Returns whether they were stored, and when the timer is due. */
export const setSlots = script('extended/set_slots', { repeatable: true, reply: whole });

export const runRecurring = script('extended/run_recurring', { repeatable: false, reply: whole });

export const backfillRecurring = script('maintenance/backfill_recurring', { repeatable: true, reply: whole });

export const deleteRecurring = script('extended/delete_recurring', { repeatable: false, reply: whole });

export const repairTimes = script('extended/repair_times', { repeatable: true, reply: whole });

export const readRecurring = script('queries/read_recurring', {
  repeatable: true,
  /** Id and list of fields of each, in turn. */
  reply: (raw) => {
    const reply = flatReply(raw);
    return { ...answer(reply), hasMore: reply[2] === 1, items: reply.slice(3) };
  },
});

export const countRecurring = script('queries/count_recurring', { repeatable: true, reply: whole });

export const RECURRING_SCRIPTS = [
  ...[setRecurring, setSlots, runRecurring, deleteRecurring, readRecurring, countRecurring, repairTimes],
  backfillRecurring,
] as const;
